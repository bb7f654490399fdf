import AuthDomain
import AuthTesting
import JSON
import Testing

/// Whatever fails behind the API: what a client is told is 503, or what it would have been told anyway.
@Suite("A fault of ours is never a verdict")
struct NoVerdictTests {
    private struct Request {
        let name: String
        let send: (World, World.SignedIn, World.SignedIn) async throws -> Reply
    }

    private static func call(
        _ name: String, _ method: String, _ target: @escaping (World.SignedIn, World.SignedIn) -> String,
        json: String? = nil
    ) -> Request {
        Request(name: name) { world, own, other in
            let type = json == nil ? [] : ["Content-Type: application/json"]
            return try await world.send(
                method, target(own, other), ["Authorization: Bearer \(own.access)"] + type, body: json)
        }
    }

    /// Each of them would succeed.
    private static var requests: [Request] {
        [
            Request(name: "refresh") { world, own, _ in try await world.refresh(own.refresh) },
            Request(name: "replay") { world, own, _ in
                _ = try await world.refresh(own.refresh)
                return try await world.refresh(own.refresh)
            },
            Request(name: "exchange") { world, _, _ in try await world.exchange(world.session()) },
            Request(name: "exchange without a device") { world, _, _ in
                try await world.exchange(world.session(), device: [])
            },
            Request(name: "access token") { world, _, _ in try await world.get("/auth/token", bearer: world.session())
            },
            call("session", "GET") { _, _ in "/auth/session" },
            call("devices", "GET") { _, _ in "/auth/devices" },
            call("current device", "GET") { _, _ in "/auth/devices/current" },
            call("device", "GET") { _, other in "/auth/devices/\(other.deviceID)" },
            call("rename", "PATCH", { _, other in "/auth/devices/\(other.deviceID)" }, json: #"{"name":"Van"}"#),
            call("found", "PATCH", { _, other in "/auth/devices/\(other.deviceID)" }, json: #"{"lost":false}"#),
            call("lost", "POST") { _, other in "/auth/devices/\(other.deviceID)/lost" },
            call("revoke", "DELETE") { _, other in "/auth/devices/\(other.deviceID)" },
            call("revoke others", "DELETE") { _, _ in "/auth/devices?others=true" },
            call("sign out everywhere", "POST", { _, _ in "/auth/sign-out" }, json: #"{"everywhere":true}"#),
            call("sign out", "POST") { _, _ in "/auth/sign-out" },
        ]
    }

    @Test(
        "whichever call fails, before its work or after it, the answer is 503 or what it was, and then well again",
        arguments: PortCall.allCases)
    func calls(port: PortCall) async throws {
        for request in Self.requests {
            for isAfter in [false, true] {
                let world = World()
                let own = try await world.signedIn()
                let other = try await world.signedIn("session-2", installation: "installation-0002")
                if isAfter {
                    world.faults.fail(after: port, .dependency)
                } else {
                    world.faults.fail(before: port, .dependency)
                }
                let broken = try await request.send(world, own, other)
                let what = "\(request.name), \(port), after: \(isAfter): \(broken.text)"
                #expect(!broken.text.contains("\"lock\"") && !broken.text.contains("\"wipe\""), "\(what)")
                guard broken.status == 503 else {
                    #expect((200...204).contains(broken.status), "\(what)")
                    continue
                }
                try broken.isRefusal(503, "temporarily_unavailable", "dependency", "retry")
                world.faults.reset()
                // An act whose answer was lost may have been done.
                if isAfter { continue }
                let mended = try await request.send(world, own, other)
                #expect((200...204).contains(mended.status), "\(what), mended: \(mended.text)")
            }
        }
    }
}
