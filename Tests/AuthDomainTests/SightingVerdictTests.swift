import AuthTesting
import Primitives
import Testing

@testable import AuthDomain

@Suite("Sighting verdicts: contract section 3's table, for the watch")
struct SightingVerdictTests {
    private static let now = Timestamp(secondsSinceEpoch: 1_800_000_000)

    private func linked(_ expiresIn: Int64, doubt: (RefusalReason, Int64)? = nil) -> LinkedSession {
        LinkedSession(
            id: "s", userID: "ada", expiresAt: Self.now + .seconds(expiresIn),
            doubt: doubt.map { LinkedSession.Doubt(reason: $0.0, since: Self.now - .seconds($0.1)) })
    }

    private func seen(_ expiresIn: Int64?, isUserThere: Bool = true) -> SessionSighting {
        SessionSighting(expiresAt: expiresIn.map { Self.now + .seconds($0) }, isUserThere: isUserThere)
    }

    private func judge(
        _ linked: LinkedSession, _ sighting: SessionSighting, _ follow: IdentityFollow = .revocation
    ) -> SightingVerdict {
        .judge(linked, sighting, follow: follow, at: Self.now)
    }

    @Test("a row that ends in the future is live, whatever was known", arguments: [-5, 0, 5, 600])
    func live(known: Int64) {
        for follow in IdentityFollow.allCases {
            #expect(judge(linked(known), seen(1), follow) == .live(expiresAt: Self.now + .seconds(1)))
        }
    }

    @Test(
        "a past end is passive if it is the last known one or later, and somebody's act if it is earlier",
        arguments: [(0, 0, false), (-1, -1, false), (-1, -2, false), (-2, -1, true), (0, 1, true), (-1, 600, true)])
    func past(row: Int64, known: Int64, isAct: Bool) {
        #expect(judge(linked(known), seen(row)) == (isAct ? .ended(.sessionRevoked) : .passive))
        #expect(
            judge(linked(known), seen(row), .session) == .ended(isAct ? .sessionRevoked : .sessionExpired))
    }

    @Test("a row that is gone was revoked while it should live, and ran out otherwise")
    func gone() {
        #expect(judge(linked(1), seen(nil)) == .ended(.sessionRevoked))
        #expect(judge(linked(0), seen(nil)) == .passive)
        #expect(judge(linked(-1), seen(nil)) == .passive)
        #expect(judge(linked(-1), seen(nil), .session) == .ended(.sessionExpired))
        // It was missed in time; that it would have run out by now does not excuse it.
        #expect(judge(linked(-1, doubt: (.sessionRevoked, 60)), seen(nil)) == .ended(.sessionRevoked))
    }

    @Test("a user without a row is deleted, whatever the session says", arguments: [nil, -600, 600] as [Int64?])
    func deleted(row: Int64?) {
        #expect(judge(linked(600), seen(row, isUserThere: false)) == .ended(.accountDeleted))
        #expect(judge(linked(-600), seen(row, isUserThere: false)) == .ended(.accountDeleted))
    }

    @Test("an end takes a second read for the same reason, 5 s or more after the first")
    func confirmation() {
        func next(_ linked: LinkedSession, _ verdict: SightingVerdict) -> SightingStep {
            .next(linked, verdict, at: Self.now)
        }
        let ended = SightingVerdict.ended(.sessionRevoked)
        #expect(next(linked(600), ended) == .doubt(.sessionRevoked))
        #expect(next(linked(600, doubt: (.sessionRevoked, 4)), ended) == .nothing)
        #expect(next(linked(600, doubt: (.sessionRevoked, 5)), ended) == .end(.sessionRevoked))
        #expect(next(linked(600, doubt: (.accountDeleted, 60)), ended) == .doubt(.sessionRevoked))
        // A clock that was set back confirms nothing, and the time begins anew.
        #expect(next(linked(600, doubt: (.sessionRevoked, -60)), ended) == .doubt(.sessionRevoked))
    }

    @Test("a replica shows nothing but life, and no shorter one than was known")
    func replica() {
        let known = linked(600)
        func believed(_ verdict: SightingVerdict) -> SightingVerdict { verdict.believedOfReplica(known) }
        for expiresIn: Int64 in [600, 601] {
            let live = SightingVerdict.live(expiresAt: Self.now + .seconds(expiresIn))
            #expect(believed(live) == live)
        }
        #expect(believed(.live(expiresAt: Self.now + .seconds(599))) == .unknown)
        for reason in [RefusalReason.sessionRevoked, .sessionExpired, .accountDeleted] {
            #expect(believed(.ended(reason)) == .unknown)
        }
        #expect(believed(.passive) == .unknown)
        #expect(SightingStep.next(linked(600, doubt: (.sessionRevoked, 60)), .unknown, at: Self.now) == .nothing)
    }

    @Test("a sighting that is well forgets the doubt, and writes nothing where nothing changed")
    func recovery() {
        let (known, later) = (Self.now + .seconds(600), Self.now + .seconds(900))
        let doubted = linked(600, doubt: (.sessionRevoked, 60))
        #expect(SightingStep.next(linked(600), .live(expiresAt: known), at: Self.now) == .nothing)
        #expect(SightingStep.next(linked(600), .live(expiresAt: later), at: Self.now) == .keep(expiresAt: later))
        #expect(SightingStep.next(doubted, .live(expiresAt: known), at: Self.now) == .keep(expiresAt: known))
        #expect(SightingStep.next(doubted, .passive, at: Self.now) == .keep(expiresAt: known))
        #expect(SightingStep.next(linked(-600), .passive, at: Self.now) == .nothing)
    }
}

@Suite("Identity census: what is too much at once")
struct IdentityCensusTests {
    @Test(
        "more than a fifth of the users and at least ten are a broken store; sessions are not counted for it",
        arguments: [
            (10, 49, true), (10, 50, false), (10, 51, false), (9, 9, false), (10, 10, true), (21, 100, true),
            (20, 100, false), (0, 0, false), (0, 1_000, false),
        ])
    func share(vanished: Int, known: Int, expected: Bool) {
        var sessions = IdentityCensus()
        (sessions.vanishedSessions, sessions.knownSessions) = (vanished, known)
        #expect(!sessions.isMassDisappearance(above: 20))
        var users = IdentityCensus()
        (users.vanishedUsers, users.knownUsers) = (vanished, known)
        #expect(users.isMassDisappearance(above: 20) == expected)
    }

    @Test("the share is the operator's", arguments: [(1, 19), (50, 20), (100, 10)])
    func ownShare(percent: Int, vanished: Int) {
        var census = IdentityCensus()
        census.knownUsers = vanished * 100 / percent
        census.vanishedUsers = vanished
        // A share as large as the limit is not above it.
        #expect(!census.isMassDisappearance(above: percent))
        census.knownUsers -= 1
        #expect(census.isMassDisappearance(above: percent))
    }

    @Test("an empty table is one as well while two users were signed in", arguments: [0, 1, 2, 9])
    func empty(users: Int) {
        for isSession in [true, false] {
            var census = IdentityCensus()
            census.liveUsers = users
            census.isSessionTableEmpty = isSession
            census.isUserTableEmpty = !isSession
            #expect(census.isMassDisappearance(above: 20) == (users >= 2))
        }
    }

    @Test("sessions that should live are counted, and each user once")
    func count() {
        let now = Timestamp(secondsSinceEpoch: 1_800_000_000)
        func linked(_ id: String, _ user: String, _ expiresIn: Int64) -> LinkedSession {
            LinkedSession(id: id, userID: user, expiresAt: now + .seconds(expiresIn), doubt: nil)
        }
        var taker = CensusTaker()
        taker.count(linked("1", "a", -5), .passive, at: now)
        taker.count(linked("2", "a", 5), .live(expiresAt: now + .seconds(5)), at: now)
        taker.count(linked("3", "a", 5), .ended(.sessionRevoked), at: now)
        taker.count(linked("1", "b", 5), .ended(.accountDeleted), at: now)
        taker.count(linked("2", "b", 5), .ended(.accountDeleted), at: now)
        taker.count(linked("1", "c", -5), .ended(.sessionExpired), at: now)
        var expected = IdentityCensus()
        (expected.knownSessions, expected.vanishedSessions) = (4, 3)
        (expected.knownUsers, expected.vanishedUsers, expected.liveUsers) = (3, 1, 2)
        #expect(taker.census == expected)
    }
}
