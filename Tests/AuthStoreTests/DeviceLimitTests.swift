import AuthDomain
import AuthTesting
import Crypto
import Primitives
import Testing

@Suite("Bound on devices", .serialized)
struct DeviceLimitTests {
    private static let day = Duration.days(1)

    /// A user with sign-ins on three devices, a second apart.
    private struct Full: Sendable {
        let it: StoreUnderTest
        let devices: [StoreUnderTest.SignedIn]

        var user: String { devices[0].user }
        var start: Timestamp { it.start }

        init(_ it: StoreUnderTest) async throws {
            self.it = it
            let user = try it.user()
            var devices: [StoreUnderTest.SignedIn] = []
            for index in 0..<3 {
                devices.append(try await it.signedIn(installation: "installation-000\(index)", user: user))
            }
            self.devices = devices
        }

        /// A sign-in on a device that would be one more.
        func join(
            _ device: UUID = UUID(random: SystemRandom()), installation: String = "installation-0009", max: Int = 3,
            at now: Timestamp
        ) async throws -> RegistrationOutcome {
            try await it.store.register(
                it.registration(
                    it.session(of: user), installation: installation, device: device, devicesMax: max,
                    startsSession: UUID(random: SystemRandom()), at: now))
        }

        func refresh(_ index: Int, at now: Timestamp) async throws {
            let session = try await it.deviceSession(devices[index].session, of: user)
            #expect(try await it.store.rotate(it.rotation(session, at: now)))
        }

        func end(_ index: Int) async throws -> RefusalReason? {
            try await it.deviceSession(devices[index].session, of: user).rotation.end
        }

        func list() async throws -> Set<UUID> { Set(try await it.store.devices(of: user).map(\.id)) }
    }

    private func with(
        _ kind: StoreKind, _ body: @escaping @Sendable (Full) async throws -> Void
    ) async throws {
        try await StoreUnderTest.with(kind) { try await body(Full($0)) }
    }

    @Test("none that was seen within a day gives way, and then nothing is written", arguments: StoreKind.allCases)
    func full(kind: StoreKind) async throws {
        try await with(kind) { full in
            let now = full.start + .hours(23)
            let refused = try await full.join(at: now)
            #expect(refused == .full(until: full.start + Self.day))
            #expect(try await full.list() == Set(full.devices.map(\.device)))
            #expect(try await full.join(max: 4, at: now) == .registered)
        }
    }

    @Test("the longest unused one gives way: off the list, its session superseded, and back by its next sign-in")
    func givesWay() async throws {
        for kind in StoreKind.allCases {
            try await with(kind) { full in
                let now = full.start + .days(2)
                // The first was made first, and used last.
                try await full.refresh(0, at: now - .hours(30))
                try await full.refresh(2, at: now - .hours(1))
                let new = UUID(random: SystemRandom())
                #expect(try await full.join(new, at: now) == .registered)
                #expect(try await (0..<3).asyncMap(full.end) == [nil, .superseded, nil])
                #expect(try await full.list() == [full.devices[0].device, full.devices[2].device, new])
                let gone = try await full.it.store.device(full.devices[1].device, of: full.user)
                #expect(gone?.hasGivenWay == true && gone?.status == .active)
                // The session that it was used with has not ended.
                let seen = full.devices[1].seen
                let view = try await full.it.store.exchangeView(token: Secret(seen.token), tokenHash: seen.hash)
                #expect(view.link?.end == nil && view.link?.ties.count == 1)
                // Decided on without knowing that it gave way: look again.
                let back = try full.it.registration(
                    seen, installation: "installation-0001", device: full.devices[1].device, at: now)
                #expect(try await full.it.store.register(back) == .changed)
                #expect(
                    try await full.join(full.devices[1].device, installation: "installation-0001", at: now)
                        == .registered)
                #expect(try await full.end(0) == .superseded)
                #expect(try await full.list() == [full.devices[1].device, full.devices[2].device, new])
            }
        }
    }

    @Test("suspended ones count and never give way; what is held does neither", arguments: StoreKind.allCases)
    func statuses(kind: StoreKind) async throws {
        try await with(kind) { full in
            let (store, now) = (full.it.store, full.start + .days(2))
            for status in [DeviceStatus.revoked, .lost, .wipeOrdered] {
                let other = try await full.it.signedIn(installation: "installation-\(status.rawValue)", user: full.user)
                _ = try await store.revokeDevice(other.device, of: full.user, status: status, at: full.start)
            }
            for index in 0..<2 {
                try full.it.setStatus(.suspended, of: full.devices[index].device, at: full.start)
            }
            #expect(try await full.join(at: now) == .registered)
            #expect(try await (0..<3).asyncMap(full.end) == [nil, nil, .superseded])
            #expect(try await full.list().count == 6)
            // Nothing is left that may give way, now or later.
            #expect(
                try await full.join(installation: "installation-0010", max: 2, at: now) == .full(until: now + Self.day))
            let lost = try #require(try await store.devices(of: full.user).first { $0.status == .lost })
            #expect(
                try await store.clearLostDevice(lost.id, of: full.user, devicesMax: 3, at: now + .seconds(1))
                    == now + Self.day)
            #expect(try await store.device(lost.id, of: full.user)?.status == .lost)
            #expect(try await store.clearLostDevice(lost.id, of: full.user, devicesMax: 4, at: now) == nil)
            #expect(try await store.device(lost.id, of: full.user)?.status == .active)
        }
    }

    @Test("where the bound was lowered, as many give way as are too many, or none", arguments: StoreKind.allCases)
    func lowered(kind: StoreKind) async throws {
        try await with(kind) { full in
            let now = full.start + .days(2)
            try await full.refresh(2, at: now - .hours(1))
            #expect(try await full.join(max: 1, at: now) == .full(until: now + .hours(23)))
            #expect(try await (0..<3).asyncMap(full.end) == [nil, nil, nil])
            #expect(try await full.join(max: 2, at: now) == .registered)
            #expect(try await (0..<3).asyncMap(full.end) == [.superseded, .superseded, nil])
        }
    }

    @Test("of sign-ins that race for the last place one takes it")
    func race() async throws {
        try await with(.postgres) { full in
            let outcomes = try await withThrowingTaskGroup(of: RegistrationOutcome.self) { group in
                for index in 10..<18 {
                    group.addTask {
                        try await full.join(installation: "installation-00\(index)", max: 4, at: full.start)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes.count { $0 == .registered } == 1)
            #expect(try await full.list().count == 4)
        }
    }

    @Test("a device stays as last seen once its sessions have ended", arguments: StoreKind.allCases)
    func lastSeen(kind: StoreKind) async throws {
        try await with(kind) { full in
            let seen = full.start + .hours(5)
            for index in 0..<3 {
                try await full.refresh(index, at: seen)
                _ = try await full.it.store.endSession(
                    full.devices[index].session, reason: .signedOut, ifGeneration: nil, at: seen + .hours(1))
            }
            #expect(try await full.it.store.device(full.devices[0].device, of: full.user)?.lastSeenAt == seen)
            #expect(try await full.join(max: 3, at: seen + .hours(20)) == .full(until: seen + Self.day))
        }
    }

    @Test("a user who revokes others revokes those too that gave way", arguments: StoreKind.allCases)
    func revokesAbsent(kind: StoreKind) async throws {
        try await with(kind) { full in
            let now = full.start + .days(2)
            #expect(try await full.join(at: now) == .registered)
            try await full.it.store.revokeDevices(of: full.user, except: full.devices[2].device, at: now)
            for index in 0..<3 {
                let device = try await full.it.store.device(full.devices[index].device, of: full.user)
                #expect(device?.status == (index == 2 ? .active : .revoked))
            }
        }
    }
}

extension Sequence where Element: Sendable {
    fileprivate func asyncMap<Result>(_ transform: (Element) async throws -> Result) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await transform(element)) }
        return results
    }
}
