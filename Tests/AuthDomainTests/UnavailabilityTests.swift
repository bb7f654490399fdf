import AuthDomain
import AuthTesting
import Primitives
import Testing

@Suite("Unavailable is never a verdict")
struct UnavailabilityTests {
    /// Fails the first port call, then the second, and so on until the operation passes.
    ///
    /// - Parameter check: what must be true after each failure.
    /// - Returns: how many port calls the operation makes.
    @discardableResult
    private func failEachCall<Value>(
        _ stack: TokenStack, _ fault: Unavailability, _ operation: () async throws(AuthFailure) -> Value,
        check: (_ failedCall: PortCall) throws -> Void = { _ in }
    ) async throws -> Int {
        for number in 1...50 {
            stack.faults.reset()
            stack.faults.failCall(number: number, fault)
            guard let found = await failure(operation) else { return number - 1 }
            #expect(found == .unavailable(fault), "call \(number)")
            try check(try #require(stack.faults.calls.last))
        }
        Issue.record("the operation never passes")
        return 0
    }

    @Test(
        "no outage at any port call of a refresh moves the generation or ends anything",
        arguments: [
            Unavailability.busy, .dependency, .misconfigured, .stopping,
        ])
    func refresh(fault: Unavailability) async throws {
        let stack = TokenStack()
        let first = try await stack.exchange()
        let token = try first.refreshToken
        let calls = try await failEachCall(stack, fault) { () async throws(AuthFailure) in
            try await stack.refresh(token)
        } check: { (call: PortCall) throws in
            #expect(try stack.generation(first) == 1, "\(call)")
            #expect(try stack.end(first) == nil)
        }
        #expect(calls == 3)
        #expect(try stack.generation(first) == 2)
    }

    @Test("nor at any call of a replay, a catch-up or one with a key to look up")
    func otherRefreshes() async throws {
        let stack = TokenStack()
        let first = try await stack.exchange()
        let backup = try stack.session(first)
        let second = try await stack.refresh(try first.refreshToken)
        let (old, new) = (try first.refreshToken, try second.refreshToken)

        try await failEachCall(stack, .dependency) { () async throws(AuthFailure) in
            try await stack.refresh(old)
        } check: { (_: PortCall) throws in
            let generation = try stack.generation(first)
            #expect(generation == 2)
        }

        stack.store.restore(backup)
        try await failEachCall(stack, .dependency) { () async throws(AuthFailure) in
            try await stack.refresh(new)
        } check: { (_: PortCall) throws in
            let generation = try stack.generation(first)
            #expect(generation == 1)
        }
        #expect(try stack.generation(first) == 3)

        stack.store.restore(backup)
        let calls = try await failEachCall(stack, .dependency) { () async throws(AuthFailure) in
            stack.keys.set(.afterRefreshKeyChange.withoutRetired)
            stack.keys.setStored(.afterRefreshKeyChange)
            return try await stack.refresh(old)
        } check: { (_: PortCall) throws in
            let generation = try stack.generation(first)
            #expect(generation == 1)
        }
        #expect(calls == 4)
    }

    @Test(
        "an outage on the way to a refusal is no refusal, and the refusal comes unchanged afterwards",
        arguments: [
            RefusalReason.refreshReused, .userBanned, .signedOut, .deviceRevoked,
        ])
    func refusals(reason: RefusalReason) async throws {
        let stack = TokenStack()
        let first = try await stack.exchange()
        let token = try first.refreshToken
        switch reason {
        case .refreshReused:
            var answer = first
            for _ in 0..<3 { answer = try await stack.refresh(try answer.refreshToken) }
            stack.clock.advance(by: .minutes(1))
        case .userBanned: stack.store.putUser("ada", ban: .init(until: nil))
        case .signedOut: stack.store.end(try stack.session(first).id, reason: .signedOut, at: stack.clock.now())
        default: stack.store.setStatus(.revoked, of: try #require(first.deviceID), at: stack.clock.now())
        }
        let generation = try stack.generation(first)
        for number in 1...10 {
            stack.faults.reset()
            stack.faults.failCall(number: number, .dependency)
            let found = await failure { () async throws(AuthFailure) in try await stack.refresh(token) }
            if case .refused(let verdict) = found {
                #expect(number > 1)
                #expect(verdict.reason == reason)
                #expect(verdict.proof != nil)
                #expect(try stack.generation(first) == generation)
                return
            }
            #expect(found == .unavailable(.dependency))
        }
        Issue.record("never refused")
    }

    @Test(
        "no outage of an exchange leaves a device session behind or pushes an older one out",
        arguments: [
            Unavailability.busy, .dependency,
        ])
    func exchange(fault: Unavailability) async throws {
        let stack = TokenStack()
        for _ in 0..<Limits.liveSessionsPerDevice { _ = try await stack.exchange() }
        let calls = try await failEachCall(stack, fault) { () async throws(AuthFailure) in
            try await stack.exchange()
        } check: { (call: PortCall) throws in
            let sessions = stack.store.deviceSessions(of: "ada")
            #expect(sessions.count == Limits.liveSessionsPerDevice, "\(call)")
            #expect(sessions.allSatisfy { $0.rotation.end == nil }, "\(call)")
        }
        #expect(calls == 4)
    }

    @Test("an access token for a session survives an outage at any call as well")
    func accessToken() async throws {
        for installation in [nil, TokenStack.installation] {
            let stack = TokenStack()
            let calls = try await failEachCall(stack, .dependency) { () async throws(AuthFailure) in
                try await stack.accessToken(installation: installation)
            }
            #expect(calls == 4)
        }
    }

    @Test("before the first keys every way to a token is 'starting'")
    func starting() async throws {
        let stack = TokenStack(keyring: nil)
        let found = [
            await failure { () async throws(AuthFailure) in try await stack.exchange() },
            await failure { () async throws(AuthFailure) in try await stack.accessToken() },
            await failure { () async throws(AuthFailure) in try await stack.refresh("a.b.c") },
            await failure { () async throws(AuthFailure) in try await stack.gate.authenticate("a.b.c") },
        ]
        #expect(found == Array(repeating: .unavailable(.starting), count: 4))
        #expect(stack.faults.calls.isEmpty)
    }

    @Test(
        "a broken custom_claims is a fault of ours and not a token without claims",
        arguments: [
            "[]", "null", "1", "", "{", #"{"a":1,"a":2}"#, #"{"a":""# + String(repeating: "x", count: 2_048) + #""}"#,
        ])
    func customClaims(json: String) async throws {
        let stack = TokenStack()
        let first = try await stack.exchange()
        stack.store.setCustomClaims(json)
        let refreshed = await failure { () async throws(AuthFailure) in
            try await stack.refresh(first.refresh?.token ?? "")
        }
        #expect(refreshed == .unavailable(.misconfigured))
        let exchanged = await failure { () async throws(AuthFailure) in try await stack.exchange() }
        #expect(exchanged == .unavailable(.misconfigured))
        #expect(try stack.generation(first) == 1)
    }
}

extension Keyring {
    fileprivate var withoutRetired: Keyring {
        FixedKeys.ring([
            FixedKeys.pair(.access, .current, FixedKeys.signing),
            FixedKeys.pair(.refresh, .current, FixedKeys.nextRefresh),
            FixedKeys.pair(.verdict, .current, FixedKeys.verdict),
        ])
    }
}
