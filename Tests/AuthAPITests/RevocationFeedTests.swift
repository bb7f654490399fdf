import AuthDomain
import AuthTesting
import HTTP
import JSON
import Primitives
import Testing

@testable import AuthAPI

/// A feed that a test writes: its cursor is a count.
final class ScriptedFeed: RevocationStore {
    private struct State {
        var entries: [Revocation] = []
        var pauses = 0
        var atPause: (number: Int, entry: Revocation)?
        var isDown = false
    }

    private let state = Locked(State())

    var pauses: Int { state.withLock { $0.pauses } }

    func add(_ entry: Revocation) { state.withLock { $0.entries.append(entry) } }
    func add(_ entry: Revocation, atPause number: Int) { state.withLock { $0.atPause = (number, entry) } }
    func stop() { state.withLock { $0.isDown = true } }

    /// A second of waiting has passed.
    func pass() {
        state.withLock { state in
            state.pauses += 1
            guard let (number, entry) = state.atPause, number == state.pauses else { return }
            state.entries.append(entry)
        }
    }

    func revocations(
        since cursor: String?, accessLifetime: Duration, at now: Timestamp
    ) async throws(Unavailability) -> RevocationPage {
        let (entries, isDown) = state.withLock { ($0.entries, $0.isDown) }
        if isDown { throw .dependency }
        let start = cursor.flatMap { Int($0) }.flatMap { (0...entries.count).contains($0) ? $0 : nil }
        return RevocationPage(
            cursor: String(entries.count), revocations: Array(entries[(start ?? 0)...]),
            isReset: cursor != nil && start == nil)
    }
}

@Suite("Revocation feed")
struct RevocationFeedTests {
    private let world = World()

    private func get(_ query: String = "", _ fields: [String] = []) async throws -> Reply {
        let basic = "Authorization: Basic \(Base64.encode(Array(("api:" + World.resourceServerSecret).utf8)))"
        return try await world.send("GET", "/auth/revocations" + query, [basic] + fields)
    }

    private func entry(_ number: Int, _ subject: Revocation.Subject? = nil) -> Revocation {
        Revocation(
            subject: subject ?? .session("sid-\(number)"), deviceID: nil, reason: "signed_out",
            revokedAt: world.clock.now(), expiresAt: world.clock.now() + .minutes(30))
    }

    @Test("an entry has a sid or a jti, a device where there is one, and its times")
    func shape() async throws {
        let device = UUID(random: SeededRandom(seed: 3))
        let now = world.clock.now()
        world.feed.add(
            Revocation(
                subject: .session("s_a"), deviceID: device, reason: "device_lost", revokedAt: now,
                expiresAt: now + .minutes(30)))
        world.feed.add(entry(1, .token("jti-1")))
        let body = try await get().ok()
        let seconds = now.secondsSinceEpoch
        #expect(
            body == [
                "cursor": "2",
                "revocations": [
                    [
                        "sid": "s_a", "device_id": .string(device.description), "reason": "device_lost",
                        "revoked_at": .integer(seconds), "expires_at": .integer(seconds + 1_800),
                    ],
                    [
                        "jti": "jti-1", "reason": "signed_out", "revoked_at": .integer(seconds),
                        "expires_at": .integer(seconds + 1_800),
                    ],
                ],
            ])
        #expect(APISchema.revocations.misfits(in: body) == [])
    }

    @Test("a cursor gives what came behind it, and an unusable one the whole list, at once")
    func cursors() async throws {
        world.feed.add(entry(1))
        world.feed.add(entry(2))
        #expect(try await get("?since=1").ok()["revocations"]?.arrayValue?.count == 1)
        #expect(try await get("?since=2").ok()["revocations"] == [])
        for cursor in ["word", "-1", "99"] {
            let body = try await get("?since=\(cursor)&wait=30").ok()
            #expect(body["reset"] == true && body["revocations"]?.arrayValue?.count == 2)
        }
        #expect(try await get("?since=1").ok()["reset"] == nil)
        #expect(world.feed.pauses == 0)
    }

    @Test("who waits is answered with the news, or with nothing once the time is over")
    func wait() async throws {
        world.feed.add(entry(1))
        world.feed.add(entry(2), atPause: 3)
        #expect(try await get("?since=1&wait=30").ok()["revocations"]?.arrayValue?.count == 1)
        #expect(world.feed.pauses == 3)
        #expect(try await get("?since=2&wait=5").ok()["revocations"] == [])
        #expect(world.feed.pauses == 8)
        #expect(try await get("?wait=5").ok()["revocations"]?.arrayValue?.count == 2)
        #expect(world.feed.pauses == 8)
    }

    @Test("the ETag is the list's: 304 while it is the same, also after waiting, and 200 when it changes")
    func conditional() async throws {
        world.feed.add(entry(1))
        let tag = try #require(try await get().field("etag"))
        let same = try await get("?wait=2", ["If-None-Match: \(tag)"])
        #expect(same.status == 304 && same.response.content.isEmpty && same.field("etag") == tag)
        #expect(world.feed.pauses == 2)
        world.feed.add(entry(2), atPause: 3)
        let changed = try await get("?wait=9", ["If-None-Match: \(tag)"])
        #expect(changed.status == 200 && changed.field("etag") != tag)
        #expect(world.feed.pauses == 3)
    }

    @Test(
        "what cannot be understood is invalid_request",
        arguments: ["?wait=31", "?wait=-1", "?wait=", "?wait=soon", "?wait=1&wait=2", "?since=1&since=1", "?since=%zz"])
    func malformed(query: String) async throws { try await get(query).isBad() }

    @Test("an outage is 503, and users read nothing")
    func refusals() async throws {
        let signedIn = try await world.signedIn()
        try await world.get("/auth/revocations", bearer: signedIn.access)
            .isRefusal(401, "invalid_client", "client_unknown", "none")
        world.feed.stop()
        try await get().isRefusal(503, "temporarily_unavailable", "dependency", "retry")
    }
}
