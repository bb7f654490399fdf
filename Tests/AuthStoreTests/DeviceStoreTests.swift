import AuthDomain
import AuthTesting
import Crypto
import Primitives
import Testing

// One at a time: each test has connections of its own to the one server.
@Suite("Device store", .serialized)
struct DeviceStoreTests {
    @Test("a user's devices are theirs alone, in the order they came", arguments: StoreKind.allCases)
    func list(kind: StoreKind) async throws {
        try await StoreUnderTest.with(kind) { it in
            let one = try await it.signedIn()
            let later = UUID(random: SystemRandom())
            _ = try await it.store.register(
                it.registration(one.seen, installation: "installation-0002", device: later, at: it.start + .seconds(1)))
            let stranger = try await it.signedIn()
            #expect(try await it.store.devices(of: one.user).map(\.id) == [one.device, later])
            #expect(try await it.store.devices(of: stranger.user).map(\.id) == [stranger.device])
            #expect(try await it.store.devices(of: "nobody").isEmpty)
            #expect(try await it.store.device(one.device, of: stranger.user) == nil)
            // The same installation under two users is two rows.
            #expect(one.device != stranger.device)
            let device = try #require(try await it.store.device(later, of: one.user))
            #expect(device.userID == one.user && device.metadata.installationID == "installation-0002")
            #expect(device.metadata.platform == .ios && device.status == .active && !device.isPushRegistered)
            #expect(device.createdAt == it.start + .seconds(1) && device.lastSeenAt == it.start + .seconds(1))
            #expect(device.lastSyncAt == nil)
        }
    }

    @Test(
        "an update changes what is given and nothing else; another user's device is not there",
        arguments: StoreKind.allCases)
    func update(kind: StoreKind) async throws {
        try await StoreUnderTest.with(kind) { it in
            let (one, stranger) = (try await it.signedIn(), try await it.signedIn())
            let named = try await it.store.updateDevice(one.device, of: one.user, name: "Van", appVersion: nil)
            #expect(named?.metadata.name == "Van" && named?.metadata.appVersion == nil)
            let versioned = try await it.store.updateDevice(one.device, of: one.user, name: nil, appVersion: "2.0")
            #expect(versioned?.metadata.name == "Van" && versioned?.metadata.appVersion == "2.0")
            #expect(
                try await it.store.updateDevice(one.device, of: stranger.user, name: "Mine", appVersion: nil) == nil)
            #expect(try await it.store.device(one.device, of: one.user) == versioned)
        }
    }

    @Test(
        "a sign-in that does not tell the device's texts leaves them, and one that does changes them",
        arguments: StoreKind.allCases)
    func texts(kind: StoreKind) async throws {
        try await StoreUnderTest.with(kind) { it in
            let one = try await it.signedIn()
            for (given, kept) in [("Ada's phone", "Ada's phone"), (nil, "Ada's phone"), ("Van", "Van")] {
                let registration = try it.registration(
                    one.seen, device: one.device, name: given, at: it.start + .seconds(1))
                #expect(try await it.store.register(registration) == .registered)
                #expect(try await it.store.device(one.device, of: one.user)?.metadata.name == kept)
            }
        }
    }

    @Test(
        "revoking ends the device's sessions and the sessions tied to it with the reason, and only those",
        arguments: StoreKind.allCases, [DeviceStatus.revoked, .lost, .wipeOrdered])
    func revoke(kind: StoreKind, status: DeviceStatus) async throws {
        try await StoreUnderTest.with(kind) { it in
            let one = try await it.signedIn()
            let two = try await it.signedIn(installation: "installation-0002", user: one.user)
            let now = it.start + .seconds(1)
            #expect(try await it.store.revokeDevice(one.device, of: one.user, status: status, at: now))
            let device = try #require(try await it.store.device(one.device, of: one.user))
            #expect(device.status == status && device.statusAt == now)
            let ended = try await it.deviceSession(one.session, of: one.user)
            #expect(ended.rotation.end == status.holdsReason && ended.deviceStatus == status)
            #expect(try await it.deviceSession(two.session, of: one.user).rotation.end == nil)
            func link(_ seen: StoreUnderTest.Seen) async throws -> SessionLink? {
                try await it.store.exchangeView(token: Secret(seen.token), tokenHash: seen.hash).link
            }
            let tied = try await link(one.seen)
            #expect(tied?.end == status.holdsReason)
            #expect(tied?.ties == [SessionLink.Tie(deviceID: one.device, status: status)])
            #expect(try await link(two.seen)?.end == nil)
        }
    }

    @Test(
        "revoking again keeps the first state and time and is no error; what is not there is told",
        arguments: StoreKind.allCases)
    func revokeAgain(kind: StoreKind) async throws {
        try await StoreUnderTest.with(kind) { it in
            let (one, stranger) = (try await it.signedIn(), try await it.signedIn())
            #expect(try await !it.store.revokeDevice(one.device, of: stranger.user, status: .revoked, at: it.start))
            #expect(
                try await !it.store.revokeDevice(
                    UUID(random: SystemRandom()), of: one.user, status: .revoked, at: it.start))
            #expect(try await it.store.device(one.device, of: one.user)?.status == .active)
            #expect(try await it.store.revokeDevice(one.device, of: one.user, status: .lost, at: it.start))
            #expect(
                try await it.store.revokeDevice(one.device, of: one.user, status: .revoked, at: it.start + .seconds(9)))
            let device = try #require(try await it.store.device(one.device, of: one.user))
            #expect(device.status == .lost && device.statusAt == it.start)
        }
    }

    @Test(
        "a revoked device may turn out to be lost, and only a lost one is cleared, by its owner",
        arguments: StoreKind.allCases)
    func lostAndFound(kind: StoreKind) async throws {
        try await StoreUnderTest.with(kind) { it in
            let (one, stranger) = (try await it.signedIn(), try await it.signedIn())
            func hold(_ status: DeviceStatus, _ seconds: Int64) async throws -> Device? {
                _ = try await it.store.revokeDevice(
                    one.device, of: one.user, status: status, at: it.start + .seconds(seconds))
                return try await it.store.device(one.device, of: one.user)
            }
            func clear(_ user: String, _ seconds: Int64) async throws -> Device? {
                _ = try await it.store.clearLostDevice(
                    one.device, of: user, devicesMax: 100, at: it.start + .seconds(seconds))
                return try await it.store.device(one.device, of: one.user)
            }
            #expect(try await clear(one.user, 1)?.status == .active)
            #expect(try await hold(.revoked, 2)?.status == .revoked)
            #expect(try await clear(one.user, 3)?.status == .revoked)
            let lost = try await hold(.lost, 4)
            #expect(lost?.status == .lost && lost?.statusAt == it.start + .seconds(4))
            #expect(try await hold(.revoked, 5)?.status == .lost)
            #expect(try await clear(stranger.user, 6)?.status == .lost)
            let found = try await clear(one.user, 7)
            #expect(found?.status == .active && found?.statusAt == it.start + .seconds(7))
            // What ended with it stays ended, with the reason of then.
            #expect(try await it.deviceSession(one.session, of: one.user).rotation.end == .deviceRevoked)
        }
    }

    @Test("revoking the others leaves the caller's device and other users' alone", arguments: StoreKind.allCases)
    func revokeOthers(kind: StoreKind) async throws {
        try await StoreUnderTest.with(kind) { it in
            let one = try await it.signedIn()
            let two = try await it.signedIn(installation: "installation-0002", user: one.user)
            let three = try await it.signedIn(installation: "installation-0003", user: one.user)
            let stranger = try await it.signedIn()
            _ = try await it.store.revokeDevice(three.device, of: one.user, status: .lost, at: it.start)
            try await it.store.revokeDevices(of: one.user, except: one.device, at: it.start + .seconds(1))
            let statuses = try await it.store.devices(of: one.user).map { ($0.id, $0.status) }
            #expect(
                Dictionary(uniqueKeysWithValues: statuses) == [
                    one.device: .active, two.device: .revoked, three.device: .lost,
                ])
            #expect(try await it.deviceSession(two.session, of: one.user).rotation.end == .deviceRevoked)
            #expect(try await it.deviceSession(three.session, of: one.user).rotation.end == .deviceLost)
            #expect(try await it.deviceSession(one.session, of: one.user).rotation.end == nil)
            #expect(try await it.store.device(stranger.device, of: stranger.user)?.status == .active)
            try await it.store.revokeDevices(of: one.user, except: nil, at: it.start + .seconds(2))
            #expect(try await it.store.device(one.device, of: one.user)?.status == .revoked)
        }
    }

    @Test(
        "a push token has one live owner over all users, and the last one to register it is it",
        arguments: StoreKind.allCases)
    func pushTaken(kind: StoreKind) async throws {
        try await StoreUnderTest.with(kind) { it in
            let (one, stranger) = (
                try await it.signedIn(), try await it.signedIn(installation: "installation-0002")
            )
            func isRegistered(_ who: StoreUnderTest.SignedIn) async throws -> Bool {
                try await it.store.device(who.device, of: who.user)?.isPushRegistered ?? false
            }
            let first = try it.registration(one.seen, device: one.device, push: "token-1", at: it.start)
            #expect(try await it.store.register(first) == .registered)
            #expect(try await isRegistered(one))
            // Again, and without one: it stays.
            #expect(try await it.store.register(first) == .registered)
            _ = try await it.store.register(it.registration(one.seen, device: one.device, at: it.start))
            #expect(try await isRegistered(one))
            let taken = try it.registration(
                stranger.seen, installation: "installation-0002", device: stranger.device, push: "token-1",
                at: it.start)
            #expect(try await it.store.register(taken) == .registered)
            #expect(try await isRegistered(stranger))
            #expect(try await !isRegistered(one))
        }
    }

    @Test(
        "an installation in another user's hands, or on a revoked device, is pushed to no longer",
        arguments: StoreKind.allCases)
    func pushEnds(kind: StoreKind) async throws {
        try await StoreUnderTest.with(kind) { it in
            let one = try await it.signedIn()
            _ = try await it.store.register(
                it.registration(one.seen, device: one.device, push: "token-1", at: it.start))
            let next = try await it.signedIn()
            #expect(try await it.store.device(one.device, of: one.user)?.isPushRegistered == false)
            _ = try await it.store.register(
                it.registration(next.seen, device: next.device, push: "token-1", at: it.start))
            #expect(try await it.store.device(next.device, of: next.user)?.isPushRegistered == true)
            _ = try await it.store.revokeDevice(next.device, of: next.user, status: .revoked, at: it.start)
            #expect(try await it.store.device(next.device, of: next.user)?.isPushRegistered == false)
        }
    }

    @Test(
        "an exchange and a revocation that race leave no live session on a revoked device",
        arguments: StoreKind.allCases)
    func registerRace(kind: StoreKind) async throws {
        try await StoreUnderTest.with(kind) { it in
            for round in 0..<10 {
                let installation = "installation-000\(round)"
                let one = try await it.signedIn(installation: installation)
                let seen = try it.session(of: one.user)
                let session = UUID(random: SystemRandom())
                let registration = try it.registration(
                    seen, installation: installation, device: one.device, startsSession: session,
                    at: it.start + .seconds(1))
                async let registered = it.store.register(registration)
                async let revoked = it.store.revokeDevice(
                    one.device, of: one.user, status: .revoked, at: it.start + .seconds(2))
                let outcome = try await (registered, revoked)
                #expect(outcome.1)
                let started = try await it.store.refreshView(sessionID: session, userID: one.user).session
                #expect((started != nil) == (outcome.0 == .registered))
                #expect(started == nil || started?.rotation.end == .deviceRevoked)
                #expect(try await it.deviceSession(one.session, of: one.user).rotation.end == .deviceRevoked)
                #expect(try await it.store.device(one.device, of: one.user)?.status == .revoked)
            }
        }
    }

    @Test("exchanges of one new installation that race make one device", arguments: StoreKind.allCases)
    func firstSignInRace(kind: StoreKind) async throws {
        try await StoreUnderTest.with(kind) { it in
            let user = try it.user()
            let seen = try (0..<6).map { _ in try it.session(of: user) }
            let outcomes = try await withThrowingTaskGroup(of: RegistrationOutcome.self) { group in
                for seen in seen {
                    group.addTask {
                        try await it.store.register(
                            it.registration(
                                seen, device: UUID(random: SystemRandom()), startsSession: UUID(random: SystemRandom()),
                                at: it.start))
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes.filter { $0 == .registered }.count == 1)
            #expect(try await it.store.devices(of: user).count == 1)
        }
    }
}
