import AuthTesting
import JSON
import Primitives
import Testing

@Suite("Sign-out and ties, over sockets", .blocking)
struct SignOutTests {
    @Test("signing out ends this device session alone, whatever the age of the proof")
    func own() throws {
        let site = try Site()
        let client = try AuthClient(site.serve())
        let user = try site.tables.user()
        let old = try site.tables.session(of: user, age: .hours(9))
        let (phone, tablet) = (
            try client.signedIn(old.signed), try client.signedIn(old.signed, installation: "installation-0002")
        )
        #expect(try client.call("POST", "/auth/sign-out", bearer: phone.access).status == 204)
        try expectRefusal(client.refresh(phone.refresh), 400, "invalid_grant", "signed_out", "lock")
        #expect(try client.get("/auth/session", bearer: phone.access).status == 401)
        #expect(try client.refreshed(tablet.refresh).generation == 2)
    }

    @Test("signing out everywhere needs fresh proof, and then ends every device session of the user and of nobody else")
    func everywhere() throws {
        let site = try Site()
        let client = try AuthClient(site.serve())
        let user = try site.tables.user()
        let old = try client.signedIn(site.tables.session(of: user, age: .minutes(6)).signed)
        let stranger = try client.signedIn(site.tables.signIn().signed)
        let refused = try client.call("POST", "/auth/sign-out", bearer: old.access, json: ["everywhere": true])
        try expectRefusal(refused, 401, "insufficient_user_authentication", "step_up_required", "step_up")
        #expect(refused.field("www-authenticate")?.contains("max_age") ?? false)
        #expect(refused.json?["proof"] == nil)
        // A refresh does not make it fresh.
        let next = try client.refreshed(old.refresh)
        let again = try client.call("POST", "/auth/sign-out", bearer: next.access, json: ["everywhere": true])
        try expectRefusal(again, 401, "insufficient_user_authentication", "step_up_required", "step_up")

        let fresh = try client.signedIn(site.tables.session(of: user).signed, installation: "installation-0002")
        #expect(
            try client.call("POST", "/auth/sign-out", bearer: fresh.access, json: ["everywhere": true]).status == 204)
        for token in [next.refresh, fresh.refresh] {
            try expectRefusal(client.refresh(token), 400, "invalid_grant", "session_revoked", "lock")
        }
        #expect(try client.refreshed(stranger.refresh).generation == 2)
    }

    @Test("signing out everywhere refuses sessions that were never presented, on every server, and no later sign-in")
    func neverPresented() throws {
        let site = try Site()
        let clients = try [AuthClient(site.serve()), AuthClient(site.serve())]
        let user = try site.tables.user()
        let never = try [.zero, .seconds(5), .hours(1), .days(5)].map { age in
            try site.tables.session(of: user, age: age)
        }
        let plain = try clients[1].get("/auth/token", bearer: site.tables.session(of: user).signed).text("token")
        let stranger = try site.tables.signIn()
        let fresh = try clients[0].signedIn(site.tables.session(of: user).signed)
        #expect(
            try clients[0].call("POST", "/auth/sign-out", bearer: fresh.access, json: ["everywhere": true]).status
                == 204)
        for client in clients {
            #expect(try client.get("/auth/session", bearer: plain).status == 401)
            for session in never {
                try expectRefusal(
                    client.exchange(session.signed, installation: "made-up-installation"), 400, "invalid_grant",
                    "session_revoked", "lock")
                try expectRefusal(
                    client.get("/auth/token", bearer: session.signed), 401, "invalid_token", "session_revoked", "lock")
            }
        }
        // By an application's clock that is some seconds off.
        for age in [Duration.zero, .seconds(20), .seconds(-4)] {
            let later = try clients[0].signedIn(site.tables.session(of: user, age: age).signed)
            #expect(later.deviceID == fresh.deviceID)
        }
        #expect(try clients[1].exchange(stranger.signed).status == 200)
    }

    @Test("revoking another device needs fresh proof, one's own does not")
    func revokingOthers() throws {
        let site = try Site()
        let client = try AuthClient(site.serve())
        let user = try site.tables.user()
        let session = try site.tables.session(of: user, age: .minutes(6))
        let (phone, tablet) = (
            try client.signedIn(session.signed), try client.signedIn(session.signed, installation: "installation-0002")
        )
        for target in ["/auth/devices/\(tablet.deviceID)", "/auth/devices?others=true"] {
            try expectRefusal(
                client.call("DELETE", target, bearer: phone.access), 401, "insufficient_user_authentication",
                "step_up_required", "step_up")
        }
        #expect(try client.refreshed(tablet.refresh).generation == 2)
        #expect(try client.call("DELETE", "/auth/devices/\(phone.deviceID)", bearer: phone.access).status == 204)
        try expectRefusal(client.refresh(phone.refresh), 400, "invalid_grant", "device_revoked", "wipe")
    }

    @Test("a session that was ever exchanged with a revoked device is refused, whatever device it names or leaves out")
    func ties() throws {
        let site = try Site()
        let client = try AuthClient(site.serve())
        let user = try site.tables.user()
        let session = try site.tables.session(of: user)
        let first = try client.signedIn(session.signed)
        let second = try client.signedIn(session.signed, installation: "installation-0002")
        let owner = try client.signedIn(site.tables.session(of: user).signed, installation: "installation-0003")
        #expect(try client.call("DELETE", "/auth/devices/\(first.deviceID)", bearer: owner.access).status == 204)
        for installation in ["installation-0001", "installation-0002", "installation-0009", nil] {
            try expectRefusal(
                client.exchange(session.signed, installation: installation), 400, "invalid_grant", "device_revoked",
                "wipe")
        }
        try expectRefusal(
            client.get("/auth/token", bearer: session.signed), 401, "invalid_token", "device_revoked", "wipe")
        // The device session on the other device proved itself by its own refresh token.
        #expect(try client.refreshed(second.refresh).generation == 2)
    }

    @Test("a revoked device comes back by a session that was made afterwards; its older sessions say lock, not wipe")
    func comesBack() throws {
        let site = try Site()
        let client = try AuthClient(site.serve())
        let user = try site.tables.user()
        let session = try site.tables.session(of: user)
        let first = try client.signedIn(session.signed)
        #expect(try client.call("DELETE", "/auth/devices/\(first.deviceID)", bearer: first.access).status == 204)
        let back = try client.signedIn(site.tables.session(of: user).signed)
        #expect(back.deviceID == first.deviceID)
        try expectRefusal(client.refresh(first.refresh), 400, "invalid_grant", "device_revoked", "lock")
        try expectRefusal(client.exchange(session.signed), 400, "invalid_grant", "device_revoked", "lock")
        #expect(try client.refreshed(back.refresh).generation == 2)
    }
}
