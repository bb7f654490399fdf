import AuthDomain
import AuthTesting
import HTTP
import JSON
import Primitives
import Testing

@Suite("Device routes")
struct DeviceRouteTests {
    private let world = World()

    private func send(
        _ method: String, _ target: String, _ access: String, json: String? = nil
    ) async throws -> Reply {
        let type = json == nil ? [] : ["Content-Type: application/json"]
        return try await world.send(method, target, ["Authorization: Bearer \(access)"] + type, body: json)
    }

    @Test("a device shows the contract's members, what is not known as null")
    func shape() async throws {
        let signedIn = try await world.signedIn()
        let body = try await send("GET", "/auth/devices/\(signedIn.deviceID)", signedIn.access).ok()
        let now = world.clock.now().secondsSinceEpoch
        #expect(
            body == [
                "id": .string(signedIn.deviceID), "installation_id": .string(World.installation), "platform": "ios",
                "name": "Grün 📱", "model": nil, "os_version": nil, "app_version": nil, "status": "active",
                "created_at": .integer(now), "last_seen_at": .integer(now), "last_sync_at": nil,
                "push_registered": false, "current": true,
            ])
    }

    @Test("the list has the user's devices alone and marks the current one")
    func list() async throws {
        let one = try await world.signedIn()
        let two = try await world.signedIn("session-2", installation: "installation-0002")
        world.store.putUser("user-2")
        let other = try await world.signedIn("session-3", of: "user-2")
        let body = try await send("GET", "/auth/devices", two.access).ok()
        let devices = try #require(body["devices"]?.arrayValue).compactMap(\.objectValue)
        #expect(Set(devices.compactMap { $0["id"]?.stringValue }) == [one.deviceID, two.deviceID])
        #expect(devices.filter { $0["current"] == true }.map { $0["id"] } == [.string(two.deviceID)])
        #expect(!devices.contains { $0["id"] == .string(other.deviceID) })
    }

    @Test("the current device has its offline policy, and a token without a device has none")
    func current() async throws {
        let signedIn = try await world.signedIn()
        world.clock.advance(by: .minutes(10))
        let body = try await send("GET", "/auth/devices/current", signedIn.access).ok()
        #expect(body["id"] == .string(signedIn.deviceID))
        let offline = try body.object("offline")
        #expect(offline["read_for"] == .integer(2_592_000 - 600))
        #expect(offline["write_for"] == .integer(604_800 - 600))
        let deviceless = try await world.exchange(world.session("session-2"), device: []).ok()
        try await send("GET", "/auth/devices/current", deviceless.text("access_token"))
            .isRefusal(404, "invalid_request", "not_found", "none")
    }

    @Test("PATCH renames, cuts the name, and leaves what is not named")
    func patch() async throws {
        let signedIn = try await world.signedIn()
        let target = "/auth/devices/\(signedIn.deviceID)"
        let renamed = try await send(
            "PATCH", target, signedIn.access, json: #"{"name":"Kü\u0007che","app_version":"2"}"#
        )
        .ok()
        #expect(renamed["name"] == "Küche" && renamed["app_version"] == "2")
        let unchanged = try await send(
            "PATCH", target, signedIn.access, json: #"{"installation_id":"taken-over-000001","id":"x","status":"lost"}"#
        ).ok()
        #expect(unchanged == renamed)
    }

    @Test(
        "PATCH refuses what is no object of texts",
        arguments: [#"{"name":null}"#, #"{"name":1}"#, "[]", "{", #"{"app_version":[]}"#])
    func badPatch(text: String) async throws {
        let signedIn = try await world.signedIn()
        let target = "/auth/devices/\(signedIn.deviceID)"
        try await send("PATCH", target, signedIn.access, json: text).isBad()
        try await send("PATCH", target, signedIn.access).isBad()
        #expect(try await send("GET", target, signedIn.access).ok()["name"] == "Grün 📱")
    }

    @Test("another user's, an unknown and a malformed id look alike", arguments: ["GET", "PATCH", "DELETE", "POST"])
    func strangers(method: String) async throws {
        let owner = try await world.signedIn()
        world.store.putUser("user-2")
        let stranger = try await world.signedIn("session-2", of: "user-2")
        for id in [owner.deviceID, UUID(random: SeededRandom(seed: 9)).description, "not-a-uuid", "%2e%2e%2f"] {
            try await send(
                method, "/auth/devices/\(id)" + (method == "POST" ? "/lost" : ""), stranger.access,
                json: method == "PATCH" ? #"{"name":"x"}"# : nil
            )
            .isRefusal(404, "invalid_request", "not_found", "none")
        }
        #expect(try await world.refresh(owner.refresh).status == 200)
    }

    @Test("a revocation is idempotent and ends that device alone")
    func revoke() async throws {
        let gone = try await world.signedIn()
        let keeper = try await world.signedIn("session-2", installation: "installation-0002")
        for _ in 0..<2 {
            let reply = try await send("DELETE", "/auth/devices/\(gone.deviceID)", keeper.access)
            #expect(reply.status == 204 && reply.response.content.isEmpty)
        }
        try await world.refresh(gone.refresh).isRefusal(400, "invalid_grant", "device_revoked", "wipe")
        try await send("GET", "/auth/devices", gone.access).isRefusal(401, "invalid_token", "access_revoked", "refresh")
        #expect(try await world.refresh(keeper.refresh).status == 200)
    }

    @Test("revoking others without fresh proof is a step-up challenge, and nothing is revoked")
    func stepUp() async throws {
        let stale = try await world.signedIn(age: .seconds(400))
        let other = try await world.signedIn("session-2", installation: "installation-0002")
        for (method, target, json) in [
            ("DELETE", "/auth/devices/\(other.deviceID)", nil), ("DELETE", "/auth/devices?others=true", nil),
            ("POST", "/auth/devices/\(other.deviceID)/lost", nil),
            ("POST", "/auth/devices/\(stale.deviceID)/lost", nil),
            ("PATCH", "/auth/devices/\(other.deviceID)", #"{"lost":false}"#),
        ] {
            let reply = try await send(method, target, stale.access, json: json)
            try reply.isRefusal(401, "insufficient_user_authentication", "step_up_required", "step_up")
            let challenge = try #require(reply.field("www-authenticate"))
            #expect(challenge.contains("error=\"insufficient_user_authentication\""))
            #expect(challenge.contains("max_age=\"300\""))
        }
        #expect(try await world.refresh(other.refresh).status == 200)
        #expect(try await send("DELETE", "/auth/devices/\(stale.deviceID)", stale.access).status == 204)
    }

    @Test("one device too many is told to wait: at both ways to a token, and when a lost one is found")
    func tooMany() async throws {
        let world = World(devicesMax: 2)
        let keeper = try await world.signedIn("session-1", age: .seconds(1))
        let lost = try await world.signedIn("session-2", installation: "installation-0002")
        let bearer = ["Authorization: Bearer \(keeper.access)", "Content-Type: application/json"]
        let target = "/auth/devices/\(lost.deviceID)"
        #expect(try await world.send("POST", target + "/lost", bearer, body: "{}").status == 204)
        _ = try await world.signedIn("session-3", installation: "installation-0003")
        world.clock.advance(by: .seconds(60))
        let session = world.session("session-4")
        let mint = ["Authorization: Bearer \(session)"] + World.device("installation-0004")
        for reply in [
            try await world.exchange(session, device: World.device("installation-0004")),
            try await world.send("GET", "/auth/token", mint),
            try await world.send("PATCH", target, bearer, body: #"{"lost":false}"#),
        ] {
            try reply.isRefusal(429, "slow_down", "rate_limited", "retry")
            #expect(reply.field("retry-after") == "30" && reply.text.contains("too many devices"))
        }
    }

    @Test("a lost device is wiped, each time it asks, until it is found; then its older sessions say lock")
    func lost() async throws {
        let gone = try await world.signedIn()
        let keeper = try await world.signedIn("session-2", installation: "installation-0002")
        let target = "/auth/devices/\(gone.deviceID)"
        for _ in 0..<2 {
            let reply = try await send("POST", target + "/lost", keeper.access)
            #expect(reply.status == 204 && reply.response.content.isEmpty)
            let refused = try await world.refresh(gone.refresh)
            try refused.isRefusal(400, "invalid_grant", "device_lost", "wipe")
            #expect(try refused.json()["proof"] != nil)
        }
        try await world.exchange(world.session()).isRefusal(400, "invalid_grant", "device_lost", "wipe")
        try await world.get("/auth/token", bearer: world.session())
            .isRefusal(401, "invalid_token", "device_lost", "wipe")
        try await send("GET", "/auth/devices", gone.access).isRefusal(401, "invalid_token", "access_revoked", "refresh")
        #expect(try await send("GET", target, keeper.access).ok()["status"] == "lost")
        for text in [#"{"lost":true}"#, #"{"lost":null}"#, #"{"lost":"false"}"#] {
            try await send("PATCH", target, keeper.access, json: text).isBad()
        }
        let found = try await send("PATCH", target, keeper.access, json: #"{"lost":false,"name":"Found"}"#).ok()
        #expect(found["status"] == "active" && found["name"] == "Found")
        try await world.refresh(gone.refresh).isRefusal(400, "invalid_grant", "device_lost", "lock")
    }

    @Test("lost with sessions=true ends the user's other sessions as well, exchanged or not; without it they go on")
    func lostSessions() async throws {
        let keeper = try await world.signedIn()
        let gone = try await world.signedIn("session-2", installation: "installation-0002")
        let other = try await world.signedIn("session-3", installation: "installation-0003")
        let aside = world.session("session-4", age: .hours(1))
        let target = "/auth/devices/\(gone.deviceID)/lost"
        for text in [#"{"sessions":"true"}"#, #"{"sessions":1}"#, "[]", "{"] {
            try await send("POST", target, keeper.access, json: text).isBad()
        }
        #expect(try await world.refresh(gone.refresh).status == 200)
        for text in [nil, "{}", #"{"sessions":false}"#, #"{"sessions":null}"#] {
            #expect(try await send("POST", target, keeper.access, json: text).status == 204)
        }
        #expect(try await world.refresh(other.refresh).status == 200)
        #expect(try await world.exchange(aside, device: World.device("installation-0004")).status == 200)

        for _ in 0..<2 {
            #expect(try await send("POST", target, keeper.access, json: #"{"sessions":true}"#).status == 204)
        }
        try await world.refresh(gone.refresh).isRefusal(400, "invalid_grant", "device_lost", "wipe")
        try await world.refresh(other.refresh).isRefusal(400, "invalid_grant", "session_revoked", "lock")
        try await world.exchange(aside).isRefusal(400, "invalid_grant", "session_revoked", "lock")
        try await world.get("/auth/token", bearer: aside).isRefusal(401, "invalid_token", "session_revoked", "lock")
        #expect(try await world.refresh(keeper.refresh).status == 200)
        #expect(
            try await world.exchange(world.session("session-5"), device: World.device("installation-0005")).status
                == 200)
    }

    @Test("others=true revokes the others")
    func others() async throws {
        let other = try await world.signedIn()
        let current = try await world.signedIn("session-2", installation: "installation-0002")
        #expect(try await send("DELETE", "/auth/devices?others=true", current.access).status == 204)
        try await world.refresh(other.refresh).isRefusal(400, "invalid_grant", "device_revoked", "wipe")
        #expect(try await world.refresh(current.refresh).status == 200)
    }

    @Test(
        "without exactly others=true nothing is revoked",
        arguments: [
            "", "?others=false", "?others", "?others=TRUE", "?others=true&others=true", "?other=true", "?others=%zz",
        ])
    func othersMissing(query: String) async throws {
        let other = try await world.signedIn()
        let current = try await world.signedIn("session-2", installation: "installation-0002")
        let reply = try await send("DELETE", "/auth/devices" + query, current.access)
        #expect(reply.status == 400)
        #expect(try await world.refresh(other.refresh).status == 200)
    }
}
