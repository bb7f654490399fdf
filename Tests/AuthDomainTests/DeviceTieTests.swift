import AuthDomain
import AuthTesting
import Primitives
import Testing

@Suite("A session stays tied to its devices")
struct DeviceTieTests {
    private let stack = TokenStack()

    private static let holds: [(DeviceStatus, RefusalReason)] = [
        (.revoked, .deviceRevoked), (.lost, .deviceLost), (.wipeOrdered, .wipeOrdered),
    ]

    private func verdict(_ body: () async throws(AuthFailure) -> TokenAnswer) async throws -> [String] {
        let verdict = try await refusal(body)
        return [verdict.reason.rawValue, verdict.action.rawValue]
    }

    @Test(
        "while a device is held its session is refused with wipe, whatever device headers it carries", arguments: holds)
    func held(status: DeviceStatus, reason: RefusalReason) async throws {
        let first = try await stack.exchange(push: "push-token")
        stack.clock.advance(by: .seconds(1))
        stack.store.setStatus(status, of: try #require(first.deviceID), at: stack.clock.now())
        #expect(stack.store.pushToken(of: try #require(first.deviceID)) == nil)
        for installation in [nil, TokenStack.installation, "installation-0000-0002"] {
            let exchanged = try await verdict { () async throws(AuthFailure) in
                try await stack.exchange(installation: installation)
            }
            let got = try await verdict { () async throws(AuthFailure) in
                try await stack.accessToken(installation: installation)
            }
            #expect(exchanged == [reason.rawValue, "wipe"])
            #expect(got == exchanged)
        }
    }

    @Test(
        "a session made after the revocation brings the device back; the older ones stay out, with lock",
        arguments: [
            (DeviceStatus.revoked, RefusalReason.deviceRevoked), (.wipeOrdered, .wipeOrdered),
        ])
    func reactivation(status: DeviceStatus, reason: RefusalReason) async throws {
        let first = try await stack.exchange()
        let device = try #require(first.deviceID)
        stack.clock.advance(by: .seconds(1))
        stack.store.setStatus(status, of: device, at: stack.clock.now())
        stack.clock.advance(by: .microseconds(1))
        stack.putSession("new", of: "ada")

        let back = try await stack.exchange("new")
        #expect(back.deviceID == device)
        #expect(stack.store.storedDevice(device)?.status == .active)
        _ = try await stack.refresh(try back.refreshToken)
        for installation in [nil, TokenStack.installation] {
            let old = try await verdict { () async throws(AuthFailure) in
                try await stack.exchange(installation: installation)
            }
            #expect(old == [reason.rawValue, "lock"])
        }
        let oldRefresh = try await verdict { () async throws(AuthFailure) in
            try await stack.refresh(first.refresh?.token ?? "")
        }
        #expect(oldRefresh == [reason.rawValue, "lock"])
    }

    @Test("a session from before the revocation, or seen before it, does not bring the device back")
    func notNew() async throws {
        let device = try #require(try await stack.exchange().deviceID)
        stack.putSession("older", of: "ada")
        stack.putSession("backdated", of: "ada", createdAt: stack.clock.now() + .days(1))
        _ = try await stack.accessToken("backdated")
        stack.clock.advance(by: .seconds(1))
        stack.store.setStatus(.revoked, of: device, at: stack.clock.now())
        stack.putSession("same-instant", of: "ada")
        for name in ["older", "backdated", "same-instant"] {
            let found = try await verdict { () async throws(AuthFailure) in try await stack.exchange(name) }
            #expect(found == ["device_revoked", "wipe"], "\(name)")
        }
        #expect(stack.store.storedDevice(device)?.status == .revoked)
    }

    @Test("a lost device stays lost for a new session too, and so does a suspended one suspended")
    func lost() async throws {
        let device = try #require(try await stack.exchange().deviceID)
        stack.clock.advance(by: .seconds(1))
        stack.store.setStatus(.lost, of: device, at: stack.clock.now())
        stack.clock.advance(by: .seconds(1))
        stack.putSession("new", of: "ada")
        var found = try await verdict { () async throws(AuthFailure) in try await stack.exchange("new") }
        #expect(found == ["device_lost", "wipe"])
        stack.store.setStatus(.suspended, of: device, at: stack.clock.now())
        found = try await verdict { () async throws(AuthFailure) in try await stack.exchange("new") }
        #expect(found == ["device_suspended", "lock"])
        #expect(stack.store.link(ofSession: "s-new") == nil)
    }

    @Test("a revocation between read and write of an exchange wins")
    func revocationRace() async throws {
        let device = try #require(try await stack.exchange().deviceID)
        stack.putSession("second", of: "ada")
        stack.clock.advance(by: .seconds(1))
        stack.faults.once(before: .register) { [stack] in
            stack.store.setStatus(.revoked, of: device, at: stack.clock.now())
        }
        let found = try await verdict { () async throws(AuthFailure) in try await stack.exchange("second") }
        #expect(found == ["device_revoked", "wipe"])
        #expect(stack.store.deviceSessions(of: "ada").count == 1)
    }

    @Test("GET /auth/token binds the session to the device that it came with")
    func binding() async throws {
        let plain = try await stack.accessToken()
        #expect(plain.deviceID == nil)
        let bound = try await stack.accessToken(installation: TokenStack.installation)
        #expect(bound.deviceID != nil)
        #expect(bound.refresh == nil)
        #expect(bound.sessionID == plain.sessionID)
        #expect(try await stack.accessToken().deviceID == bound.deviceID)
        #expect(try await stack.exchange(installation: nil).deviceID == nil)
        #expect(stack.store.deviceSessions(of: "ada").isEmpty)
    }
}
