import AuthDomain
import AuthTesting
import Primitives
import Testing

@Suite("Devices of a user")
struct DeviceServiceTests {
    private let stack = TokenStack()

    private func caller(_ answer: TokenAnswer) async throws -> Caller {
        try await stack.gate.authenticate(answer.accessToken)
    }

    @Test("a user sees their own devices; another's, an unknown and a malformed id look alike")
    func visibility() async throws {
        let mine = try await stack.exchange()
        _ = try await stack.exchange(installation: "installation-0000-0002")
        stack.signIn("bob")
        let other = try await stack.exchange("bob", installation: "installation-0000-0003")
        let caller = try await caller(mine)
        #expect(try await stack.devices.devices(caller).count == 2)
        let id = try #require(mine.deviceID).description
        #expect(try await stack.devices.device(id, caller).metadata.name == "Ada's phone")
        #expect(try await stack.devices.device(id.uppercased(), caller).id == mine.deviceID)
        let foreign = try #require(other.deviceID).description
        for id in [foreign, "00000000-0000-4000-8000-000000000000", "not-a-uuid", ""] {
            let found = [
                await failure { () async throws(AuthFailure) in try await stack.devices.device(id, caller) },
                await failure { () async throws(AuthFailure) in try await stack.devices.revoke(id, caller) },
                await failure { () async throws(AuthFailure) in
                    try await stack.devices.update(id, name: "x", appVersion: nil, caller)
                },
                await failure { () async throws(AuthFailure) in
                    try await stack.devices.reportLost(id, endsSessions: false, caller)
                },
                await failure { () async throws(AuthFailure) in try await stack.devices.clearLost(id, caller) },
            ]
            #expect(found == Array(repeating: .notFound, count: 5))
        }
        #expect(stack.store.storedDevice(try #require(other.deviceID))?.status == .active)
    }

    @Test("a name is cleaned like that of a registration, and an empty one changes nothing")
    func update() async throws {
        let answer = try await stack.exchange()
        let (caller, id) = (try await caller(answer), try #require(answer.deviceID).description)
        let named = try await stack.devices.update(id, name: "New\u{202e}\nname", appVersion: nil, caller)
        #expect(named.metadata.name == "Newname")
        #expect(named.metadata.appVersion == "1.2.3")
        let same = try await stack.devices.update(id, name: " ", appVersion: "2.0", caller)
        #expect(same.metadata.name == "Newname")
        #expect(same.metadata.appVersion == "2.0")
    }

    @Test("revoking another device needs fresh proof, is idempotent, and ends that device only")
    func revoke() async throws {
        let mine = try await stack.exchange()
        let other = try await stack.exchange(installation: "installation-0000-0002")
        let (caller, id) = (try await caller(mine), try #require(other.deviceID).description)
        stack.clock.advance(by: .seconds(301))
        let stale = try await refusal { () async throws(AuthFailure) in try await stack.devices.revoke(id, caller) }
        #expect(stale.reason == .stepUpRequired)
        #expect(try stack.end(other) == nil)

        stack.clock.advance(by: .seconds(-300))
        for _ in 0..<2 { try await stack.devices.revoke(id, caller) }
        #expect(try stack.end(other) == .deviceRevoked)
        #expect(try stack.end(mine) == nil)
    }

    @Test("one's own device needs no fresh proof")
    func revokeOwn() async throws {
        let mine = try await stack.exchange()
        let caller = try await caller(mine)
        stack.clock.advance(by: .days(1))
        try await stack.devices.revoke(try #require(mine.deviceID).description, caller)
        let verdict = try await refusal { () async throws(AuthFailure) in
            try await stack.refresh(mine.refresh?.token ?? "")
        }
        #expect(verdict.reason == .deviceRevoked)
        #expect(verdict.action == .wipe)
    }

    @Test("a lost device needs fresh proof, one's own too; it stays lost until it is cleared, whoever signs in on it")
    func lost() async throws {
        let mine = try await stack.exchange()
        let other = try await stack.exchange(installation: "installation-0000-0002")
        let caller = try await caller(mine)
        let ids = [try #require(mine.deviceID).description, try #require(other.deviceID).description]
        stack.clock.advance(by: .seconds(301))
        for id in ids {
            let stale = [
                try await refusal { () async throws(AuthFailure) in
                    try await stack.devices.reportLost(id, endsSessions: false, caller)
                },
                try await refusal { () async throws(AuthFailure) in
                    try await stack.devices.reportLost(id, endsSessions: true, caller)
                },
                try await refusal { () async throws(AuthFailure) in try await stack.devices.clearLost(id, caller) },
            ]
            #expect(stale.allSatisfy { $0.reason == .stepUpRequired && $0.action == .stepUp })
        }
        #expect(try stack.end(other) == nil)
        stack.clock.advance(by: .seconds(-300))
        let token = try other.refreshToken
        for _ in 0..<2 { try await stack.devices.reportLost(ids[1], endsSessions: false, caller) }
        #expect(try stack.end(mine) == nil)
        let verdict = try await refusal { () async throws(AuthFailure) in try await stack.refresh(token) }
        #expect(verdict.reason == .deviceLost && verdict.action == .wipe && verdict.proof != nil)

        stack.clock.advance(by: .seconds(30))
        stack.putSession("anew", of: "ada")
        func signIn() async throws(AuthFailure) -> TokenAnswer {
            try await stack.exchange("anew", installation: "installation-0000-0002")
        }
        #expect(try await refusal { () async throws(AuthFailure) in try await signIn() }.reason == .deviceLost)
        for _ in 0..<2 { try await stack.devices.clearLost(ids[1], caller) }
        let older = try await refusal { () async throws(AuthFailure) in try await stack.refresh(token) }
        #expect(older.reason == .deviceLost && older.action == .lock)
        #expect(try await signIn().deviceID == other.deviceID)
    }

    @Test("lost with the user's sessions spares the caller's own, ends the others, and refuses those never presented")
    func lostWithSessions() async throws {
        stack.putSession("aside", of: "ada", createdAt: stack.clock.now() - .days(5))
        stack.putSession("lost", of: "ada")
        stack.putSession("third", of: "ada")
        let mine = try await stack.exchange()
        let lost = try await stack.exchange("lost", installation: "installation-0000-0002")
        let third = try await stack.exchange("third", installation: "installation-0000-0003")
        stack.clock.advance(by: .seconds(200))
        let id = try #require(lost.deviceID).description
        try await stack.devices.reportLost(id, endsSessions: true, caller(mine))
        #expect(try stack.end(lost) == .deviceLost)
        #expect(try stack.end(third) == .sessionRevoked)
        #expect(try stack.end(mine) == nil)
        for name in ["aside", "third"] {
            for installation in [TokenStack.installation, "made-up-installation", nil] {
                let verdict = try await refusal { () async throws(AuthFailure) in
                    try await stack.exchange(name, installation: installation)
                }
                #expect(verdict.reason == .sessionRevoked && verdict.action == .lock && verdict.proof != nil)
            }
        }
        // The lost phone's own session, under whatever installation it is presented.
        for installation in ["installation-0000-0002", "made-up-installation", nil] {
            let verdict = try await refusal { () async throws(AuthFailure) in
                try await stack.exchange("lost", installation: installation)
            }
            #expect(verdict.reason == .deviceLost && verdict.action == .wipe)
        }
        _ = try await stack.exchange()
        stack.putSession("later", of: "ada")
        _ = try await stack.exchange("later", installation: "installation-0000-0004")
    }

    @Test("a revoked device may still be reported lost, and one that is not lost is not cleared")
    func revokedThenLost() async throws {
        let mine = try await stack.exchange()
        let other = try await stack.exchange(installation: "installation-0000-0002")
        let caller = try await caller(mine)
        let id = try #require(other.deviceID)
        try await stack.devices.revoke(id.description, caller)
        try await stack.devices.clearLost(id.description, caller)
        #expect(stack.store.storedDevice(id)?.status == .revoked)
        try await stack.devices.reportLost(id.description, endsSessions: false, caller)
        #expect(stack.store.storedDevice(id)?.status == .lost)
        try await stack.devices.revoke(id.description, caller)
        #expect(stack.store.storedDevice(id)?.status == .lost)
    }

    @Test("revoking the others keeps the caller's and touches no other user")
    func revokeOthers() async throws {
        let mine = try await stack.exchange()
        let others = [
            try await stack.exchange(installation: "installation-0000-0002"),
            try await stack.exchange(installation: "installation-0000-0003"),
        ]
        stack.signIn("bob")
        let bob = try await stack.exchange("bob", installation: "installation-0000-0002")
        let caller = try await caller(mine)
        try await stack.devices.revokeOthers(caller)
        #expect(try others.map { try stack.end($0) } == [.deviceRevoked, .deviceRevoked])
        #expect(try stack.end(mine) == nil)
        #expect(try stack.end(bob) == nil)
        stack.clock.advance(by: .seconds(301))
        let stale = try await refusal { () async throws(AuthFailure) in try await stack.devices.revokeOthers(caller) }
        #expect(stale.reason == .stepUpRequired)
    }

    @Test("signing out ends the caller's own session, at any time")
    func signOut() async throws {
        let (mine, sibling) = (try await stack.exchange(), try await stack.exchange())
        let caller = try await caller(mine)
        stack.clock.advance(by: .days(1))
        for _ in 0..<2 { try await stack.devices.signOut(caller, everywhere: false) }
        #expect(try stack.end(mine) == .signedOut)
        #expect(try stack.end(sibling) == nil)
    }

    @Test("signing out everywhere needs fresh proof, ends all of the user's, and none of another's")
    func signOutEverywhere() async throws {
        let (mine, second) = (
            try await stack.exchange(), try await stack.exchange(installation: "installation-0000-0002")
        )
        stack.putSession("web", of: "ada")
        let web = try await stack.exchange("web", installation: nil)
        stack.signIn("bob")
        let bob = try await stack.exchange("bob")
        let caller = try await caller(mine)
        try await stack.devices.signOut(caller, everywhere: true)
        #expect(try [mine, second].map { try stack.end($0) } == [.sessionRevoked, .sessionRevoked])
        #expect(try stack.end(bob) == nil)
        for name in ["ada", "web"] {
            let verdict = try await refusal { () async throws(AuthFailure) in try await stack.exchange(name) }
            #expect(verdict.reason == .sessionRevoked)
        }
        let gone = try await refusal { () async throws(AuthFailure) in
            try await stack.gate.authenticate(web.accessToken)
        }
        #expect(gone.reason == .accessRevoked)
        _ = try await stack.gate.authenticate(bob.accessToken)

        stack.clock.advance(by: .seconds(301))
        let stale = try await refusal { () async throws(AuthFailure) in
            try await stack.devices.signOut(caller, everywhere: true)
        }
        #expect(stale.reason == .stepUpRequired)
    }

    @Test("a sign-out everywhere that an outage stopped can be asked for again")
    func signOutOutage() async throws {
        let mine = try await stack.exchange()
        for number in 1...10 {
            let caller = try await caller(mine)
            stack.faults.reset()
            stack.faults.failCall(number: number, .dependency)
            let found = await failure { () async throws(AuthFailure) in
                try await stack.devices.signOut(caller, everywhere: true)
            }
            guard let found else { return #expect(number > 1) }
            #expect(found == .unavailable(.dependency))
            #expect(try stack.end(mine) == nil)
        }
        Issue.record("never signed out")
    }

    @Test("a session without a device signs out too, though its row lives on")
    func signOutWithoutDevice() async throws {
        let answer = try await stack.exchange(installation: nil)
        try await stack.devices.signOut(try await caller(answer), everywhere: false)
        let verdict = try await refusal { () async throws(AuthFailure) in try await stack.exchange() }
        #expect(verdict.reason == .signedOut)
        #expect(verdict.action == .lock)
    }
}
