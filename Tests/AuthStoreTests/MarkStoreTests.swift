import AuthDomain
import AuthStore
import AuthTesting
import Crypto
import Primitives
import Testing

// One at a time: each test has connections of its own to the one server.
@Suite("Marks of users", .serialized)
struct MarkStoreTests {
    private static let mark = TestClock().now() + .days(10)

    private func isMarked(_ seen: StoreUnderTest.Seen, in it: StoreUnderTest) async throws -> Bool {
        try await it.store.mintView(
            session: seen.session, installationID: nil, deviceID: nil, candidateID: UUID(random: SystemRandom())
        ).isMarked
    }

    @Test(
        "what can be read at the mark is refused whatever its age, the rest by its age beyond a minute",
        arguments: StoreKind.allCases)
    func everywhere(kind: StoreKind) async throws {
        try await StoreUnderTest.with(kind) { it in
            let (user, stranger) = (try it.user(), try it.user())
            let offsets: [Int64] = [-432_000, -61, -60, -1, 0, 30, 3_600]
            let readable = try offsets.map { try it.session(of: user, createdAt: Self.mark + .seconds($0)) }
            let foreign = try it.session(of: stranger, createdAt: Self.mark - .days(1))
            for seen in readable { #expect(try await !isMarked(seen, in: it)) }
            try await it.store.endAllSessions(of: user, reason: .sessionRevoked, at: Self.mark)
            for seen in readable { #expect(try await isMarked(seen, in: it)) }
            #expect(try await !isMarked(foreign, in: it))

            let unread: [(microseconds: Int64, isMarked: Bool)] = [
                (-432_000_000_000, true), (-61_000_000, true), (-60_000_001, true), (-60_000_000, false),
                (-1_000_000, false), (0, false), (20_000_000, false), (3_600_000_000, false),
            ]
            for (offset, expected) in unread {
                let seen = try it.session(of: user, createdAt: Self.mark + .microseconds(offset))
                #expect(try await isMarked(seen, in: it) == expected, "\(offset)")
            }
        }
    }

    @Test(
        "a marked session is neither registered nor remembered, and nothing of it is written",
        arguments: StoreKind.allCases)
    func refused(kind: StoreKind) async throws {
        try await StoreUnderTest.with(kind) { it in
            let user = try it.user()
            let seen = try it.session(of: user)
            try await it.store.endAllSessions(of: user, reason: .sessionRevoked, at: it.start + .seconds(1))
            let now = it.start + .seconds(2)
            #expect(try await it.store.remember(seen.seen(at: now)) == .changed)
            let registration = try it.registration(
                seen, device: UUID(random: SystemRandom()), startsSession: UUID(random: SystemRandom()), at: now)
            #expect(try await it.store.register(registration) == .changed)
            #expect(try await it.store.devices(of: user).isEmpty)
            #expect(try await it.store.exchangeView(token: Secret(seen.token), tokenHash: seen.hash).link == nil)
            #expect(try await !it.store.accessView(sessionID: seen.accessSID, deviceID: nil, tokenID: "jti").isLive)
        }
    }

    @Test(
        "a lost device ends as lost; with it the user's other sessions end, but the one that is spared",
        arguments: StoreKind.allCases)
    func lost(kind: StoreKind) async throws {
        try await StoreUnderTest.with(kind) { it in
            let keeper = try await it.signedIn()
            let gone = try await it.signedIn(installation: "installation-0002", user: keeper.user)
            let other = try await it.signedIn(installation: "installation-0003", user: keeper.user)
            let stranger = try await it.signedIn()
            let never = try it.session(of: keeper.user, createdAt: it.start - .days(3))
            // An hour later: the spared session is older than the mark.
            let now = it.start + .hours(1)
            func lose(_ device: UUID, of user: String) async throws -> Bool {
                try await it.store.loseDevice(device, of: user, sparing: keeper.seen.session.id, at: now)
            }
            #expect(try await !lose(gone.device, of: stranger.user))
            #expect(try await !isMarked(never, in: it))
            for _ in 0..<2 { #expect(try await lose(gone.device, of: keeper.user)) }
            func end(_ who: StoreUnderTest.SignedIn) async throws -> RefusalReason? {
                try await it.deviceSession(who.session, of: who.user).rotation.end
            }
            #expect(try await end(gone) == .deviceLost)
            #expect(try await end(other) == .sessionRevoked)
            #expect(try await end(keeper) == nil)
            #expect(try await end(stranger) == nil)
            #expect(try await it.store.device(gone.device, of: keeper.user)?.status == .lost)
            for (seen, expected) in [(never, true), (other.seen, true), (keeper.seen, false), (stranger.seen, false)] {
                #expect(try await isMarked(seen, in: it) == expected)
            }
            // The next mark spares nothing.
            try await it.store.endAllSessions(of: keeper.user, reason: .sessionRevoked, at: now + .seconds(1))
            #expect(try await isMarked(keeper.seen, in: it))
            #expect(try await end(keeper) == .sessionRevoked)
        }
    }

    @Test("an exchange and a sign-out of everything that race leave no live session", arguments: StoreKind.allCases)
    func race(kind: StoreKind) async throws {
        try await StoreUnderTest.with(kind) { it in
            for round in 0..<12 {
                let user = try it.user()
                let seen = try it.session(of: user)
                let session = UUID(random: SystemRandom())
                let registration = try it.registration(
                    seen, installation: "installation-00\(10 + round)", device: UUID(random: SystemRandom()),
                    startsSession: session, at: it.start)
                async let registered = it.store.register(registration)
                async let ended: Void = it.store.endAllSessions(
                    of: user, reason: .sessionRevoked, at: it.start + .seconds(1))
                let outcome = try await (registered, ended).0
                let found = try await it.store.refreshView(sessionID: session, userID: user).session
                #expect((found != nil) == (outcome == .registered))
                #expect(found == nil || found?.rotation.end == .sessionRevoked)
                #expect(try await isMarked(seen, in: it))
            }
        }
    }
}
