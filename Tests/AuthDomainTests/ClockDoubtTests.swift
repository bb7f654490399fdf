import AuthDomain
import AuthTesting
import Crypto
import JOSE
import JSON
import Primitives
import Testing

@Suite("Tokens while clocks differ")
struct ClockDoubtTests {
    private let stack = TokenStack()
    private let issued: IssuedTokens

    init() {
        issued = IssuedTokens(
            policy: stack.policy, store: stack.store, gate: stack.gate, keys: stack.keys,
            sealing: FixedKeys.sealing(), clock: stack.clock)
    }

    // MARK: A token from the future

    private static let leads: [(Duration, isTaken: Bool)] = [
        (.zero, true), (.milliseconds(1_000), true), (.milliseconds(1_001), false), (.seconds(60), false),
        (.seconds(299), false), (.seconds(300), false),
    ]

    @Test("a token of a server that is up to five minutes ahead waits, and is never foreign", arguments: leads)
    func ahead(lead: Duration, isTaken: Bool) async throws {
        let answer = try await stack.exchange()
        stack.clock.advance(by: .zero - lead)
        let access = await failure { () async throws(AuthFailure) in
            try await stack.gate.authenticate(answer.accessToken)
        }
        #expect(access == (isTaken ? nil : .unavailable(.busy)))
        // Introspection says what is true at the server that issued it.
        for token in [answer.accessToken, try answer.refreshToken] {
            #expect(try await issued.inspect(token) != nil)
        }
        let refresh = try answer.refreshToken
        let refused = await failure { () async throws(AuthFailure) in try await stack.refresh(refresh) }
        #expect(refused == (isTaken ? nil : .unavailable(.busy)))
        #expect(try stack.generation(answer) == (isTaken ? 2 : 1))
    }

    @Test("an access token from the future can be revoked")
    func revokedAhead() async throws {
        let answer = try await stack.exchange()
        stack.clock.advance(by: .minutes(-5))
        try await issued.revoke(answer.accessToken, clientID: nil)
        #expect(try await issued.inspect(answer.accessToken) == nil)
        stack.clock.advance(by: .minutes(5))
        let verdict = try await refusal { () async throws(AuthFailure) in
            try await stack.gate.authenticate(answer.accessToken)
        }
        #expect(verdict.reason == .accessRevoked)
    }

    @Test("the extremes of the times in a token are refused, and stop nothing", arguments: [Int64.min, -1, .max])
    func extremes(number: Int64) async throws {
        let answer = try await stack.exchange(installation: nil)
        for name in ["iat", "exp", "nbf", "auth_time"] {
            var claims = try DecodedToken(answer.accessToken).claims
            claims[name] = .integer(number)
            let input = JWS.signingInput(
                header: JWTHeader(type: "at+jwt", kid: JWK(FixedKeys.signing.publicKey).kid).json, claims: claims)
            let token = JWS.compact(signingInput: input, signature: try FixedKeys.signing.sign(input))
            guard name == "auth_time" else {
                let verdict = try await refusal { () async throws(AuthFailure) in
                    try await stack.gate.authenticate(token)
                }
                #expect(verdict.reason == .tokenMalformed, "\(name)")
                continue
            }
            let caller = try await stack.gate.authenticate(token)
            #expect(throws: AuthFailure.self) { try stack.gate.requireFreshProof(caller) }
        }
    }

    // MARK: A clock in doubt

    private func expectBusy(
        _ body: () async throws(AuthFailure) -> some Sendable, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        stack.clock.setDoubt(true)
        let found = await failure { () async throws(AuthFailure) in _ = try await body() }
        #expect(found == .unavailable(.busy), sourceLocation: sourceLocation)
        stack.clock.setDoubt(false)
        let verdict = try await refusal { () async throws(AuthFailure) in _ = try await body() }
        #expect(verdict.reason != .tokenForeign, sourceLocation: sourceLocation)
    }

    @Test("nothing expires while the clock is in doubt")
    func expired() async throws {
        let answer = try await stack.exchange()
        stack.clock.advance(by: .minutes(30))
        try await expectBusy { () async throws(AuthFailure) in try await stack.gate.authenticate(answer.accessToken) }
        stack.clock.setDoubt(true)
        let asked = await failure { () async throws(AuthFailure) in try await issued.inspect(answer.accessToken) }
        #expect(asked == .unavailable(.busy))
        stack.clock.advance(by: .days(31))
        let refresh = try answer.refreshToken
        let inspected = await failure { () async throws(AuthFailure) in try await issued.inspect(refresh) }
        #expect(inspected == .unavailable(.busy))
        try await expectBusy { () async throws(AuthFailure) in try await stack.refresh(refresh) }
        stack.putSession("old", of: "ada", expiresIn: .seconds(-1))
        try await expectBusy { () async throws(AuthFailure) in try await stack.exchange("old") }
        try await expectBusy { () async throws(AuthFailure) in try await stack.accessToken("old") }
    }

    @Test("no reuse ends a session while the clock is in doubt: what raced is told by the time")
    func reused() async throws {
        let first = try await stack.exchange()
        let second = try await stack.refresh(try first.refreshToken)
        _ = try await stack.refresh(try second.refreshToken)
        stack.clock.advance(by: .seconds(11))
        let token = try first.refreshToken
        stack.clock.setDoubt(true)
        let asked = await failure { () async throws(AuthFailure) in try await issued.inspect(token) }
        #expect(asked == .unavailable(.busy))
        try await expectBusy { () async throws(AuthFailure) in try await stack.refresh(token) }
        #expect(try stack.end(first) == .refreshReused)
    }

    @Test("what lives goes on, and what has ended keeps its reason while the clock is in doubt")
    func undoubted() async throws {
        stack.clock.setDoubt(true)
        let answer = try await stack.exchange()
        let next = try await stack.refresh(try answer.refreshToken)
        _ = try await stack.gate.authenticate(next.accessToken)
        stack.store.end(try stack.session(answer).id, reason: .signedOut, at: stack.clock.now())
        let refresh = try next.refreshToken
        let verdict = try await refusal { () async throws(AuthFailure) in try await stack.refresh(refresh) }
        #expect(verdict.reason == .signedOut)
        try await stack.store.endAllSessions(of: "ada", reason: .sessionRevoked, at: stack.clock.now())
        let exchanged = try await refusal { () async throws(AuthFailure) in try await stack.exchange() }
        #expect(exchanged.reason == .sessionRevoked)
    }
}
