import AuthDomain
import AuthTesting
import Primitives
import Testing

@Suite("Session verdicts: contract section 3's table")
struct SessionVerdictTests {
    private static let now = Timestamp(secondsSinceEpoch: 1_800_000_000)
    private static let device = UUID(bytes: [UInt8](repeating: 7, count: 16))
    private static let user = IdentityUser(id: "ada", name: nil, email: nil, isVerified: true, ban: nil)

    private func session(expiresIn microseconds: Int64) -> IdentitySession {
        IdentitySession(
            id: "s", userID: "ada", createdAt: Self.now - .days(1), expiresAt: Self.now + .microseconds(microseconds),
            impersonatedBy: nil)
    }

    private func link(
        expiresIn microseconds: Int64, end: RefusalReason? = nil, ties: [DeviceStatus] = []
    ) -> SessionLink {
        SessionLink(
            sessionID: "s", userID: "ada", firstSeenAt: Self.now - .hours(1),
            expiresAt: Self.now + .microseconds(microseconds), deviceID: Self.device, end: end,
            ties: ties.map { SessionLink.Tie(deviceID: Self.device, status: $0) })
    }

    private func judge(
        _ session: IdentitySession?, user: IdentityUser? = user, _ link: SessionLink?
    ) -> SessionVerdict {
        .judge(session: session, user: user, link: link, at: Self.now)
    }

    private func reason(_ verdict: SessionVerdict) -> RefusalReason? {
        if case .refused(let reason, _, _) = verdict { reason } else { nil }
    }

    @Test("a row that ends in the future is live, known or not", arguments: [Int64(1), 1_000_000])
    func live(microseconds: Int64) {
        let session = session(expiresIn: microseconds)
        for link in [nil, link(expiresIn: -5), link(expiresIn: 5), link(expiresIn: 9_000_000)] {
            #expect(judge(session, link) == .live(session, Self.user))
        }
    }

    @Test(
        "a past end that is the last known one, or later, is passive; an earlier one is somebody's act",
        arguments: [
            (Int64(0), Int64(0), RefusalReason.sessionExpired), (-1, -1, .sessionExpired), (-1, -2, .sessionExpired),
            (-2, -1, .sessionRevoked), (0, 1, .sessionRevoked), (-1, 9_000_000, .sessionRevoked),
        ])
    func ended(row: Int64, known: Int64, expected: RefusalReason) {
        #expect(reason(judge(session(expiresIn: row), link(expiresIn: known))) == expected)
        #expect(reason(judge(session(expiresIn: row), nil)) == .sessionExpired)
    }

    @Test("a row that is gone was revoked while it should live, else it ran out; one never seen is unknown")
    func gone() {
        #expect(judge(nil, link(expiresIn: 1)) == .refused(.sessionRevoked, deviceID: Self.device))
        #expect(judge(nil, link(expiresIn: 0)) == .refused(.sessionExpired, deviceID: Self.device))
        #expect(judge(nil, link(expiresIn: -1)) == .refused(.sessionExpired, deviceID: Self.device))
        #expect(judge(nil, user: nil, nil) == .refused(.sessionUnknown, deviceID: nil))
        // A user's row takes those of their sessions along.
        for expiresIn: Int64 in [-1, 0, 1] {
            #expect(
                judge(nil, user: nil, link(expiresIn: expiresIn)) == .refused(.accountDeleted, deviceID: Self.device))
        }
    }

    @Test("a user without a row, or with a ban that lasts, is refused")
    func users() {
        let session = session(expiresIn: 1)
        #expect(reason(judge(session, user: nil, nil)) == .accountDeleted)
        func banned(_ until: Timestamp?) -> IdentityUser {
            IdentityUser(id: "ada", name: nil, email: nil, isVerified: true, ban: .init(until: until))
        }
        #expect(reason(judge(session, user: banned(nil), nil)) == .userBanned)
        #expect(reason(judge(session, user: banned(Self.now + .microseconds(1)), nil)) == .userBanned)
        #expect(reason(judge(session, user: banned(Self.now), nil)) == nil)
        #expect(reason(judge(self.session(expiresIn: 0), user: banned(nil), nil)) == .sessionExpired)
    }

    @Test(
        "a held device comes before everything else",
        arguments: [
            (DeviceStatus.revoked, RefusalReason.deviceRevoked), (.lost, .deviceLost), (.wipeOrdered, .wipeOrdered),
        ])
    func heldTie(status: DeviceStatus, expected: RefusalReason) {
        let held = SessionVerdict.refused(expected, deviceID: Self.device, isDeviceHeld: true)
        for end in [nil, RefusalReason.signedOut] {
            let link = link(expiresIn: 5, end: end, ties: [.active, .suspended, status])
            #expect(judge(session(expiresIn: 5), link) == held)
            #expect(judge(session(expiresIn: -5), link) == held)
            #expect(judge(nil, user: nil, link) == held)
        }
    }

    @Test("a session that ended with us stays ended though its row lives; its device is not held any more")
    func endedWithUs() {
        for reason in [RefusalReason.signedOut, .sessionRevoked, .deviceRevoked] {
            let found = judge(session(expiresIn: 5), link(expiresIn: 5, end: reason, ties: [.active]))
            #expect(found == .refused(reason, deviceID: Self.device, isDeviceHeld: false))
        }
    }

    @Test("a suspended device refuses a session that is live otherwise")
    func suspendedTie() {
        let link = link(expiresIn: 5, ties: [.active, .suspended])
        #expect(judge(session(expiresIn: 5), link) == .refused(.deviceSuspended, deviceID: Self.device))
        #expect(reason(judge(session(expiresIn: 0), link)) == .sessionRevoked)
    }
}
