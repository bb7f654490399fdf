import AuthDomain
import AuthTesting
import Primitives
import Testing

@Suite("Bound on devices, at the token endpoint")
struct DeviceLimitTests {
    let stack = TokenStack { $0.devicesMax = 2 }

    private func installation(_ index: Int) -> String { "installation-0000-000\(index)" }

    /// How long one waits for a place; `nil`: it is signed in.
    private func wait(_ index: Int, _ endpoint: String) async throws -> Duration? {
        do throws(AuthFailure) {
            _ =
                endpoint == "GET"
                ? try await stack.accessToken(installation: installation(index))
                : try await stack.exchange(installation: installation(index))
            return nil
        } catch .devicesFull(let wait) {
            return wait
        }
    }

    @Test(
        "one too many waits until one may give way, on both ways to a token; a known device never waits",
        arguments: ["GET", "POST"])
    func full(endpoint: String) async throws {
        for index in 1...2 { _ = try await stack.exchange(installation: installation(index)) }
        stack.clock.advance(by: .hours(1))
        #expect(try await wait(3, endpoint) == .hours(23))
        #expect(try await wait(1, endpoint) == nil)
        // No device, no bound.
        _ = try await stack.accessToken()
    }

    @Test("the one that gave way is superseded, and takes the place of another when it comes back")
    func givesWay() async throws {
        let one = try await stack.exchange(installation: installation(1))
        stack.clock.advance(by: .seconds(1))
        let two = try await stack.exchange(installation: installation(2))
        stack.clock.advance(by: .days(2))
        _ = try await stack.exchange(installation: installation(3))
        #expect(try stack.end(one) == .superseded)
        let token = try #require(one.refresh?.token)
        let refused = try await refusal { () async throws(AuthFailure) in try await stack.refresh(token) }
        #expect(refused.reason == .superseded && refused.action == .lock)
        #expect(try await stack.exchange(installation: installation(1)).deviceID == one.deviceID)
        #expect(try stack.end(two) == .superseded)
    }

    @Test("a lost device counts again once it is found: it waits for a place like a new one")
    func found() async throws {
        let one = try await stack.exchange(installation: installation(1))
        stack.putSession("other", of: "ada")
        let two = try await stack.exchange("other", installation: installation(2))
        let caller = try await stack.gate.authenticate(one.accessToken)
        let id = try #require(two.deviceID).description
        try await stack.devices.reportLost(id, endsSessions: false, caller)
        _ = try await stack.exchange(installation: installation(3))
        await #expect(throws: AuthFailure.devicesFull(wait: .hours(24))) {
            try await stack.devices.clearLost(id, caller)
        }
    }
}
