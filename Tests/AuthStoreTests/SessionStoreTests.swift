import AuthDomain
import AuthTesting
import Crypto
import JSON
import Primitives
import Testing

// One at a time: each test has connections of its own to the one server.
@Suite("Session store", .serialized)
struct SessionStoreTests {
    @Test("a session that nobody has presented has its row and no link", arguments: StoreKind.allCases)
    func fresh(kind: StoreKind) async throws {
        try await StoreUnderTest.with(kind) { it in
            let user = try it.user(isVerified: false)
            let seen = try it.session(of: user)
            let view = try await it.store.exchangeView(token: Secret(seen.token), tokenHash: seen.hash)
            #expect(view.session == seen.session)
            #expect(view.user?.id == user && view.user?.isVerified == false && view.user?.ban == nil)
            #expect(view.link == nil)
            let unknown = try await it.store.exchangeView(token: Secret("no-such-token"), tokenHash: [0])
            #expect(unknown.session == nil && unknown.user == nil && unknown.link == nil)
            #expect(try await it.store.user(user)?.id == user)
            #expect(try await it.store.user("nobody") == nil)
        }
    }

    @Test("a registration starts a device session that reads back as it was written", arguments: StoreKind.allCases)
    func registered(kind: StoreKind) async throws {
        try await StoreUnderTest.with(kind) { it in
            let one = try await it.signedIn()
            let session = try await it.deviceSession(one.session, of: one.user)
            #expect(session.id == one.session && session.deviceID == one.device && session.userID == one.user)
            #expect(session.deviceStatus == .active && session.clientID == "app")
            #expect(session.scopes == ScopeSet(["api", "sync"]) && session.amr == ["session"])
            #expect(session.identitySessionID == one.seen.session.id && session.authTime == it.start)
            #expect(session.createdAt == it.start && session.sealedSecret == [1, 2, 3])
            #expect(session.current == it.issued(1, at: it.start))
            let rotation = RotationState(
                generation: 1, rotatedAt: it.start, rotationKeys: [], hasSeenKey: false,
                expiresAt: it.start + .days(90), end: nil)
            #expect(session.rotation == rotation)
            let view = try await it.store.refreshView(sessionID: one.session, userID: one.user)
            #expect(view.user?.id == one.user)
            #expect(
                try await it.store.refreshView(sessionID: UUID(random: SystemRandom()), userID: one.user).session == nil
            )
        }
    }

    @Test("an exchange ties the session to its device; only GET /auth/token binds it", arguments: StoreKind.allCases)
    func ties(kind: StoreKind) async throws {
        try await StoreUnderTest.with(kind) { it in
            let one = try await it.signedIn()
            let link = try #require(
                try await it.store.exchangeView(token: Secret(one.seen.token), tokenHash: one.seen.hash).link)
            #expect(link.sessionID == one.seen.session.id && link.userID == one.user && link.end == nil)
            #expect(link.firstSeenAt == it.start && link.expiresAt == one.seen.session.expiresAt)
            #expect(link.ties == [SessionLink.Tie(deviceID: one.device, status: .active)])
            #expect(link.deviceID == nil)

            let other = UUID(random: SystemRandom())
            let binding = try it.registration(
                one.seen, installation: "installation-0002", device: other, at: it.start + .seconds(1))
            #expect(try await it.store.register(binding) == .registered)
            let bound = try #require(
                try await it.store.exchangeView(token: Secret(one.seen.token), tokenHash: one.seen.hash).link)
            #expect(bound.deviceID == other && bound.firstSeenAt == it.start)
            #expect(Set(bound.ties.map(\.deviceID)) == [one.device, other])
            // Without a device the binding stays.
            #expect(try await it.store.remember(one.seen.seen(at: it.start + .seconds(2))) == .registered)
            _ = try await it.exchangedAgain(one, at: it.start + .seconds(3))
            let later = try await it.store.exchangeView(token: Secret(one.seen.token), tokenHash: one.seen.hash).link
            #expect(later?.deviceID == other && later?.firstSeenAt == it.start)
        }
    }

    @Test(
        "a registration whose device id is not the row's is changed, and nothing of it is written",
        arguments: StoreKind.allCases)
    func otherDeviceID(kind: StoreKind) async throws {
        try await StoreUnderTest.with(kind) { it in
            let one = try await it.signedIn()
            let (stray, session) = (UUID(random: SystemRandom()), UUID(random: SystemRandom()))
            let late = try it.session(of: one.user)
            let registration = try it.registration(
                late, device: stray, name: "Stray", startsSession: session, at: it.start + .seconds(1))
            #expect(try await it.store.register(registration) == .changed)
            #expect(try await it.store.device(stray, of: one.user) == nil)
            #expect(try await it.store.device(one.device, of: one.user)?.metadata.name == nil)
            #expect(try await it.store.refreshView(sessionID: session, userID: one.user).session == nil)
            #expect(try await it.store.exchangeView(token: Secret(late.token), tokenHash: late.hash).link == nil)
        }
    }

    @Test(
        "a registration on a device that is held or suspended meanwhile is changed",
        arguments: StoreKind.allCases, [DeviceStatus.revoked, .lost, .wipeOrdered, .suspended])
    func heldMeanwhile(kind: StoreKind, status: DeviceStatus) async throws {
        try await StoreUnderTest.with(kind) { it in
            let one = try await it.signedIn()
            try it.setStatus(status, of: one.device, at: it.start + .seconds(5))
            let seen = try it.session(of: one.user, createdAt: it.start + .seconds(1))
            let registration = try it.registration(
                seen, device: one.device, startsSession: UUID(random: SystemRandom()), at: it.start + .seconds(9))
            #expect(try await it.store.register(registration) == .changed)
            #expect(try await it.store.device(one.device, of: one.user)?.status == status)
        }
    }

    @Test("a registration by a session that was signed out meanwhile is changed", arguments: StoreKind.allCases)
    func signedOutMeanwhile(kind: StoreKind) async throws {
        try await StoreUnderTest.with(kind) { it in
            let one = try await it.signedIn()
            try await it.store.endIdentitySession(
                accessSID: one.seen.accessSID, reason: .signedOut, at: it.start + .seconds(1))
            let registration = try it.registration(
                one.seen, device: one.device, startsSession: UUID(random: SystemRandom()), at: it.start + .seconds(2))
            #expect(try await it.store.register(registration) == .changed)
            let elsewhere = try it.registration(
                one.seen, installation: "installation-0002", device: UUID(random: SystemRandom()),
                at: it.start + .seconds(2))
            #expect(try await it.store.register(elsewhere) == .changed)
            #expect(try await it.store.devices(of: one.user).map(\.id) == [one.device])
            let link = try await it.store.exchangeView(token: Secret(one.seen.token), tokenHash: one.seen.hash).link
            #expect(link?.end == .signedOut)
        }
    }

    @Test(
        "a device that was revoked or ordered to wipe comes back by a session made after that; one made before is changed",
        arguments: StoreKind.allCases, [DeviceStatus.revoked, .wipeOrdered])
    func reactivation(kind: StoreKind, status: DeviceStatus) async throws {
        try await StoreUnderTest.with(kind) { it in
            let one = try await it.signedIn()
            let held = it.start + .seconds(10)
            #expect(
                try await it.store.revokeDevice(one.device, of: one.user, status: status, at: held))
            for (age, outcome) in [(-5, RegistrationOutcome.changed), (0, .changed), (5, .registered)] {
                let seen = try it.session(of: one.user, createdAt: held + .seconds(age))
                let registration = try it.registration(
                    seen, device: one.device, reactivates: true, startsSession: UUID(random: SystemRandom()),
                    at: held + .seconds(20))
                #expect(try await it.store.register(registration) == outcome, "\(age)")
            }
            let device = try #require(try await it.store.device(one.device, of: one.user))
            #expect(device.status == .active && device.statusAt == held + .seconds(20))
            // What the revocation ended stays ended.
            let old = try await it.deviceSession(one.session, of: one.user)
            #expect(old.rotation.end == status.holdsReason && old.deviceStatus == .active)
        }
    }

    @Test("a lost device does not come back by any session", arguments: StoreKind.allCases)
    func lost(kind: StoreKind) async throws {
        try await StoreUnderTest.with(kind) { it in
            let one = try await it.signedIn()
            _ = try await it.store.revokeDevice(one.device, of: one.user, status: .lost, at: it.start + .seconds(1))
            let seen = try it.session(of: one.user, createdAt: it.start + .seconds(5))
            let registration = try it.registration(
                seen, device: one.device, reactivates: true, at: it.start + .seconds(9))
            #expect(try await it.store.register(registration) == .changed)
            #expect(try await it.store.device(one.device, of: one.user)?.status == .lost)
        }
    }

    @Test("the eleventh live device session of a device ends the longest unused one", arguments: StoreKind.allCases)
    func superseding(kind: StoreKind) async throws {
        try await StoreUnderTest.with(kind) { it in
            let one = try await it.signedIn()
            var sessions = [one.session]
            for number in 1..<Limits.liveSessionsPerDevice {
                sessions.append(try await it.exchangedAgain(one, at: it.start + .seconds(number)))
            }
            // The first is used, so that the second is the longest unused.
            let first = try await it.deviceSession(one.session, of: one.user)
            #expect(try await it.store.rotate(it.rotation(first, at: it.start + .seconds(60))))
            let other = try await it.signedIn(installation: "installation-0002", user: one.user)
            _ = try await it.exchangedAgain(one, at: it.start + .seconds(61))
            for (index, id) in sessions.enumerated() {
                let end = try await it.deviceSession(id, of: one.user).rotation.end
                #expect(end == (index == 1 ? .superseded : nil), "\(index)")
            }
            #expect(try await it.deviceSession(other.session, of: one.user).rotation.end == nil)
        }
    }

    @Test("sessions that have ended or expired leave room", arguments: StoreKind.allCases)
    func room(kind: StoreKind) async throws {
        try await StoreUnderTest.with(kind) { it in
            let one = try await it.signedIn()
            for number in 1..<Limits.liveSessionsPerDevice {
                _ = try await it.exchangedAgain(one, at: it.start + .seconds(number))
            }
            #expect(
                try await it.store.endSession(
                    one.session, reason: .signedOut, ifGeneration: nil, at: it.start + .seconds(50)))
            _ = try await it.exchangedAgain(one, at: it.start + .seconds(60))
            #expect(try await it.deviceSession(one.session, of: one.user).rotation.end == .signedOut)
            let last = try await it.exchangedAgain(one, at: it.start + .days(91))
            #expect(try await it.deviceSession(last, of: one.user).rotation.end == nil)
        }
    }

    @Test("a rotation writes everything, once for its generation", arguments: StoreKind.allCases)
    func rotation(kind: StoreKind) async throws {
        try await StoreUnderTest.with(kind) { it in
            let one = try await it.signedIn()
            let before = try await it.deviceSession(one.session, of: one.user)
            let now = it.start + .seconds(30)
            let rotation = it.rotation(before, key: [7, 7], at: now)
            #expect(try await it.store.rotate(rotation))
            #expect(try await !it.store.rotate(rotation))
            let after = try await it.deviceSession(one.session, of: one.user)
            #expect(after.current == it.issued(2, at: now) && after.rotation.generation == 2)
            #expect(after.rotation.rotatedAt == now && after.rotation.hasSeenKey)
            #expect(after.rotation.rotationKeys == [[7, 7]])
            #expect(try await it.store.device(one.device, of: one.user)?.lastSeenAt == now)
            // A key of one rotation and none of the next: absent is kept as absent.
            #expect(try await it.store.rotate(it.rotation(after, at: now + .seconds(1))))
            let third = try await it.deviceSession(one.session, of: one.user)
            #expect(third.rotation.rotationKeys == [nil, [7, 7]] && third.rotation.hasSeenKey)
        }
    }

    @Test("a restored generation is caught up over the gap", arguments: StoreKind.allCases)
    func restored(kind: StoreKind) async throws {
        try await StoreUnderTest.with(kind) { it in
            let one = try await it.signedIn()
            let before = try await it.deviceSession(one.session, of: one.user)
            #expect(try await it.store.rotate(it.rotation(before, key: [1], to: 5, at: it.start + .seconds(1))))
            let after = try await it.deviceSession(one.session, of: one.user)
            #expect(after.rotation.generation == 5 && after.rotation.rotationKeys == [[1], nil, nil, nil])
        }
    }

    @Test("of rotations that race for one generation exactly one is written", arguments: StoreKind.allCases)
    func rotationRace(kind: StoreKind) async throws {
        try await StoreUnderTest.with(kind) { it in
            let one = try await it.signedIn()
            let before = try await it.deviceSession(one.session, of: one.user)
            for round in 0..<5 {
                let session = try await it.deviceSession(one.session, of: one.user)
                let won = try await withThrowingTaskGroup(of: Bool.self) { group in
                    for number in 0..<12 {
                        group.addTask {
                            try await it.store.rotate(
                                it.rotation(session, key: [UInt8(number)], at: it.start + .seconds(number)))
                        }
                    }
                    return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
                }
                #expect(won == 1)
                let after = try await it.deviceSession(one.session, of: one.user)
                #expect(after.rotation.generation == Int64(round + 2))
                #expect(after.rotation.rotationKeys.count == min(round + 1, Limits.rotationKeysKept))
            }
            #expect(try await !it.store.rotate(it.rotation(before, at: it.start)))
        }
    }

    @Test("an end is kept with its reason, and no rotation or second end follows it", arguments: StoreKind.allCases)
    func end(kind: StoreKind) async throws {
        try await StoreUnderTest.with(kind) { it in
            let one = try await it.signedIn()
            let before = try await it.deviceSession(one.session, of: one.user)
            let now = it.start + .seconds(1)
            #expect(try await !it.store.endSession(one.session, reason: .refreshReused, ifGeneration: 2, at: now))
            #expect(
                try await !it.store.endSession(
                    UUID(random: SystemRandom()), reason: .signedOut, ifGeneration: nil, at: now))
            #expect(try await it.deviceSession(one.session, of: one.user).rotation.end == nil)
            #expect(try await it.store.endSession(one.session, reason: .refreshReused, ifGeneration: 1, at: now))
            #expect(try await !it.store.endSession(one.session, reason: .signedOut, ifGeneration: nil, at: now))
            #expect(try await !it.store.rotate(it.rotation(before, at: now)))
            #expect(try await it.deviceSession(one.session, of: one.user).rotation.end == .refreshReused)
        }
    }

    @Test("a reuse verdict and a rotation of the same generation exclude each other", arguments: StoreKind.allCases)
    func endRace(kind: StoreKind) async throws {
        try await StoreUnderTest.with(kind) { it in
            for round in 0..<8 {
                let one = try await it.signedIn(installation: "installation-000\(round)")
                let session = try await it.deviceSession(one.session, of: one.user)
                async let rotated = it.store.rotate(it.rotation(session, at: it.start + .seconds(1)))
                async let ended = it.store.endSession(
                    one.session, reason: .refreshReused, ifGeneration: 1, at: it.start + .seconds(1))
                let outcome = try await (rotated, ended)
                #expect(outcome.0 != outcome.1)
                let after = try await it.deviceSession(one.session, of: one.user)
                #expect((after.rotation.end == nil) == outcome.0)
                #expect(after.rotation.generation == (outcome.0 ? 2 : 1))
            }
        }
    }

    @Test(
        "signing out everywhere ends all device sessions and known sessions of the user, and nobody else's",
        arguments: StoreKind.allCases)
    func everywhere(kind: StoreKind) async throws {
        try await StoreUnderTest.with(kind) { it in
            let one = try await it.signedIn()
            let two = try await it.signedIn(installation: "installation-0002", user: one.user)
            let stranger = try await it.signedIn()
            _ = try await it.store.endSession(
                two.session, reason: .refreshReused, ifGeneration: nil, at: it.start + .seconds(1))
            try await it.store.endAllSessions(of: one.user, reason: .sessionRevoked, at: it.start + .seconds(2))
            #expect(try await it.deviceSession(one.session, of: one.user).rotation.end == .sessionRevoked)
            #expect(try await it.deviceSession(two.session, of: one.user).rotation.end == .refreshReused)
            #expect(try await it.deviceSession(stranger.session, of: stranger.user).rotation.end == nil)
            for (seen, end) in [
                (one.seen, RefusalReason.sessionRevoked), (two.seen, .sessionRevoked), (stranger.seen, nil),
            ] {
                let link = try await it.store.exchangeView(token: Secret(seen.token), tokenHash: seen.hash).link
                #expect(link?.end == end)
            }
        }
    }

    @Test(
        "an access token lives as long as its session, its device and every device its session is tied to",
        arguments: StoreKind.allCases)
    func access(kind: StoreKind) async throws {
        try await StoreUnderTest.with(kind) { it in
            let one = try await it.signedIn()
            let sid = one.seen.accessSID
            func isLive(_ sid: String, _ device: UUID? = nil) async throws -> Bool {
                try await it.store.accessView(sessionID: sid, deviceID: device, tokenID: "jti").isLive
            }
            let view = try await it.store.accessView(
                sessionID: one.session.description, deviceID: one.device, tokenID: "jti")
            #expect(view.isLive && view.deviceSession?.id == one.session)
            #expect(try await isLive(sid))
            #expect(try await isLive(sid, one.device))
            #expect(try await !isLive("s_unknown"))
            #expect(try await !isLive(UUID(random: SystemRandom()).description))

            try it.setStatus(.suspended, of: one.device, at: it.start + .seconds(1))
            #expect(try await !isLive(one.session.description, one.device))
            #expect(try await !isLive(sid, one.device))
            #expect(try await isLive(sid))
            try it.setStatus(.active, of: one.device, at: it.start + .seconds(2))
            #expect(try await isLive(one.session.description, one.device))

            _ = try await it.store.revokeDevice(one.device, of: one.user, status: .revoked, at: it.start + .seconds(3))
            #expect(try await !isLive(one.session.description, one.device))
            #expect(try await !isLive(sid))
        }
    }

    @Test(
        "an access view says whose the session is, and whether the device is one of it", arguments: StoreKind.allCases)
    func bonds(kind: StoreKind) async throws {
        try await StoreUnderTest.with(kind) { it in
            let (one, stranger) = (try await it.signedIn(), try await it.signedIn())
            func bond(_ sid: String, _ device: UUID?) async throws -> AccessView.Bond? {
                try await it.store.accessView(sessionID: sid, deviceID: device, tokenID: "jti").bond
            }
            func expected(_ hasDevice: Bool) -> AccessView.Bond {
                AccessView.Bond(userID: one.user, identitySessionID: one.seen.session.id, hasDevice: hasDevice)
            }
            for sid in [one.session.description, one.seen.accessSID] {
                #expect(try await bond(sid, one.device) == expected(true))
                #expect(try await bond(sid, stranger.device) == expected(false))
            }
            // A token without a device is none of a device session.
            #expect(try await bond(one.session.description, nil) == expected(false))
            #expect(try await bond(one.seen.accessSID, nil) == expected(true))
            #expect(try await bond("s_unknown", nil) == nil)
            #expect(try await bond(UUID(random: SystemRandom()).description, one.device) == nil)
        }
    }

    @Test(
        "a revoked access token is dead, others of its session live, and the first revocation stays",
        arguments: StoreKind.allCases)
    func revokedToken(kind: StoreKind) async throws {
        try await StoreUnderTest.with(kind) { it in
            let one = try await it.signedIn()
            let now = it.start + .seconds(1)
            func revoke(_ jti: String, until end: Timestamp, at now: Timestamp) async throws {
                try await it.store.revokeAccessToken(
                    RevokedAccessToken(
                        tokenID: jti, userID: one.user, deviceID: one.device, expiresAt: end, revokedAt: now))
            }
            func isLive(_ sid: String, _ jti: String) async throws -> Bool {
                try await it.store.accessView(sessionID: sid, deviceID: nil, tokenID: jti).isLive
            }
            for _ in 0..<2 { try await revoke("jti-1", until: now + .minutes(30), at: now) }
            for sid in [one.session.description, one.seen.accessSID] {
                #expect(try await !isLive(sid, "jti-1"))
                #expect(try await isLive(sid, "jti-2"))
            }
            // The session itself can still be looked at: whoever revokes a refresh token asks for it.
            let view = try await it.store.accessView(
                sessionID: one.session.description, deviceID: nil, tokenID: "jti-1")
            #expect(view.deviceSession?.id == one.session)
        }
    }

    @Test("a session without a device dies when it is signed out", arguments: StoreKind.allCases)
    func accessWithoutDevice(kind: StoreKind) async throws {
        try await StoreUnderTest.with(kind) { it in
            let seen = try it.session(of: it.user())
            #expect(try await it.store.remember(seen.seen(at: it.start)) == .registered)
            #expect(try await it.store.accessView(sessionID: seen.accessSID, deviceID: nil, tokenID: "jti").isLive)
            try await it.store.endIdentitySession(accessSID: seen.accessSID, reason: .signedOut, at: it.start)
            #expect(try await !it.store.accessView(sessionID: seen.accessSID, deviceID: nil, tokenID: "jti").isLive)
            // The first reason stays.
            try await it.store.endIdentitySession(accessSID: seen.accessSID, reason: .sessionRevoked, at: it.start)
            let link = try await it.store.exchangeView(token: Secret(seen.token), tokenHash: seen.hash).link
            #expect(link?.end == .signedOut && link?.ties == [])
        }
    }

    @Test(
        "the operator's claims come with every mint; what is no object of 2 KiB is misconfigured",
        arguments: StoreKind.allCases)
    func claims(kind: StoreKind) async throws {
        try await StoreUnderTest.with(kind) { it in
            let one = try await it.signedIn()
            func mint() async throws(Unavailability) -> MintView {
                try await it.store.mintView(
                    session: one.seen.session, installationID: "installation-0001", deviceID: nil,
                    candidateID: UUID(random: SystemRandom()))
            }
            try it.setCustomClaims(#"{"tenant": "t-1", "sub": "somebody"}"#)
            let view = try await mint()
            #expect(view.device?.id == one.device)
            #expect(view.claims.members["tenant"] == "t-1" && view.claims.dropped == ["sub"])
            let refresh = try await it.store.refreshView(sessionID: one.session, userID: one.user)
            #expect(refresh.claims == view.claims)
            for text in [#"[1]"#, "null", #"{"a": ""# + String(repeating: "x", count: 2_048) + #""}"#] {
                try it.setCustomClaims(text)
                await #expect(throws: AuthDomain.Unavailability.misconfigured) { try await mint() }
                await #expect(throws: AuthDomain.Unavailability.misconfigured) {
                    try await it.store.refreshView(sessionID: one.session, userID: one.user)
                }
            }
            // SQL's NULL is no claim at all.
            try it.setCustomClaims(nil)
            #expect(try await mint().claims == .none)
            #expect(try await it.store.refreshView(sessionID: one.session, userID: one.user).claims == .none)
            try it.setCustomClaims("null")
            // An ended session is answered with its reason, whatever the operator's function does.
            _ = try await it.store.endSession(one.session, reason: .signedOut, ifGeneration: nil, at: it.start)
            let ended = try await it.store.refreshView(sessionID: one.session, userID: one.user)
            #expect(ended.session?.rotation.end == .signedOut)
        }
    }
}
