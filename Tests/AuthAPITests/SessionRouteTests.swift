import AuthDomain
import AuthTesting
import JSON
import Primitives
import Testing

@Suite("Session routes")
struct SessionRouteTests {
    private let world = World()

    private func signOut(_ access: String, json: String? = nil) async throws -> Reply {
        let type = json == nil ? [] : ["Content-Type: application/json"]
        return try await world.send("POST", "/auth/sign-out", ["Authorization: Bearer \(access)"] + type, body: json)
    }

    @Test("GET /auth/session says who the caller is and what holds for them")
    func session() async throws {
        let signedIn = try await world.signedIn()
        let body = try await world.get("/auth/session", bearer: signedIn.access).ok()
        #expect(
            body.names == [
                "user", "verified", "scope", "client_id", "sid", "device_id", "device", "session", "offline", "server",
                "features", "server_time",
            ])
        #expect(body["user"] == ["id": "user-1", "name": "Ada", "email": "user-1@example.com"])
        #expect(body["verified"] == true)
        #expect(body["scope"] == "api sync")
        #expect(body["sid"] == .string(signedIn.sid))
        #expect(try body.object("device")["id"] == .string(signedIn.deviceID))
        let now = world.clock.now().secondsSinceEpoch
        let times = try body.object("session")
        #expect(times["auth_time"] == .integer(now - 60))
        #expect(times["created_at"] == .integer(now))
        #expect(times["access_expires_in"] == 1_800)
        #expect(times["refresh_expires_in"] == 2_592_000)
        #expect(times["expires_at"] == .integer(now + 7_776_000))
        #expect(try body.object("offline") == signedIn.body.object("offline"))
        #expect(body["server"] == ["name": "sallyport", "version": "1.2.3"])
        for (_, value) in try body.object("features").members { #expect(value.boolValue != nil) }
    }

    @Test("without a device there is none, and no offline policy")
    func deviceless() async throws {
        let access = try await world.exchange(world.session(), device: []).ok().text("access_token")
        let body = try await world.get("/auth/session", bearer: access).ok()
        #expect(body["device"] == nil && body["device_id"] == nil && body["offline"] == nil)
        #expect(try body.text("sid").hasPrefix("s_"))
    }

    @Test("verification is read from the identity store, not from the token")
    func verified() async throws {
        let signedIn = try await world.signedIn()
        world.store.putUser("user-1", isVerified: false)
        #expect(try await world.get("/auth/session", bearer: signedIn.access).ok()["verified"] == false)
    }

    @Test("sign-out ends the caller's own session alone, and needs no fresh proof")
    func signOut() async throws {
        let out = try await world.signedIn(age: .days(1))
        let keeper = try await world.signedIn("session-2", installation: "installation-0002")
        #expect(try await signOut(out.access).status == 204)
        try await world.refresh(out.refresh).isRefusal(400, "invalid_grant", "signed_out", "lock")
        try await signOut(out.access).isRefusal(401, "invalid_token", "access_revoked", "refresh")
        #expect(try await world.refresh(keeper.refresh).status == 200)
    }

    @Test("the strict policy wipes at sign-out")
    func strict() async throws {
        let world = World(verdictPolicy: .strict)
        let out = try await world.signedIn()
        _ = try await world.send("POST", "/auth/sign-out", ["Authorization: Bearer \(out.access)"])
        try await world.refresh(out.refresh).isRefusal(400, "invalid_grant", "signed_out", "wipe")
    }

    @Test("everywhere ends all sessions of the user, with fresh proof alone")
    func everywhere() async throws {
        let stale = try await world.signedIn(age: .seconds(301))
        let fresh = try await world.signedIn("session-2", installation: "installation-0002")
        try await signOut(stale.access, json: #"{"everywhere":true}"#)
            .isRefusal(401, "insufficient_user_authentication", "step_up_required", "step_up")
        #expect(try await world.get("/auth/devices", bearer: stale.access).status == 200)
        #expect(try await signOut(fresh.access, json: #"{"everywhere":true}"#).status == 204)
        try await world.refresh(stale.refresh).isRefusal(400, "invalid_grant", "session_revoked", "lock")
    }

    @Test(
        "everywhere is a truth value; other members and false change nothing",
        arguments: ["{}", #"{"everywhere":false}"#, #"{"a":1}"#])
    func ownOnly(text: String) async throws {
        let out = try await world.signedIn()
        let keeper = try await world.signedIn("session-2", installation: "installation-0002")
        #expect(try await signOut(out.access, json: text).status == 204)
        #expect(try await world.refresh(keeper.refresh).status == 200)
    }

    @Test(
        "a sign-out that is not understood ends nothing",
        arguments: [#"{"everywhere":"true"}"#, #"{"everywhere":1}"#, "[]", "{"])
    func malformed(text: String) async throws {
        let signedIn = try await world.signedIn()
        try await signOut(signedIn.access, json: text).isBad()
        #expect(try await world.get("/auth/devices", bearer: signedIn.access).status == 200)
    }
}
