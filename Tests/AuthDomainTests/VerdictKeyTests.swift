import AuthDomain
import AuthTesting
import Crypto
import JOSE
import JSON
import Primitives
import Testing

/// A client believes the key that it was given at sign-in, and what that key vouches for.
@Suite("Changing verdict keys")
struct VerdictKeyTests {
    private let stack = TokenStack()

    /// - Parameter states: of the verdict keys in the order that they were made, each since an instant.
    private func setKeys(_ states: [(KeyState, Timestamp)]) {
        let keys = [FixedKeys.verdict, FixedKeys.nextVerdict, FixedKeys.thirdVerdict]
        var pairs = [
            FixedKeys.pair(.access, .current, FixedKeys.signing),
            FixedKeys.pair(.refresh, .current, FixedKeys.refresh),
        ]
        var halves: [PublicHalf] = []
        for (key, (state, since)) in zip(keys, states) {
            if state.isUsable {
                pairs.append(FixedKeys.pair(.verdict, state, key, stateAt: since))
            } else {
                halves.append(
                    PublicHalf(
                        purpose: .verdict, state: state, jwk: JWK(key.publicKey), createdAt: FixedKeys.createdAt,
                        stateAt: since))
            }
        }
        stack.keys.set(FixedKeys.ring(pairs, publicHalves: halves))
    }

    private func kid(_ key: SigningKey) -> String { JWK(key.publicKey).kid }

    /// Who signed it, proved by the key itself.
    private func signer(of token: String) throws -> String {
        let jws = try UnverifiedJWS(token)
        let keys = [FixedKeys.verdict, FixedKeys.nextVerdict, FixedKeys.thirdVerdict]
        try jws.verifySignature { kid in keys.map(\.publicKey).first { JWK($0).kid == kid } }
        return try #require(jws.kid)
    }

    @Test("an answer under the key of the sign-in has no proof of it; each later key is proved by that of the sign-in")
    func chain() async throws {
        var first = try await stack.exchange()
        let start = stack.clock.now()
        #expect(first.verdictKeyProof == nil)
        first = try await stack.refresh(first.refreshToken)
        #expect(first.verdictKeyProof == nil && first.verdictKey.kid == kid(FixedKeys.verdict))

        stack.clock.advance(by: .hours(1))
        setKeys([(.retired, start + .minutes(30)), (.current, start + .minutes(30))])
        let second = try await stack.exchange(installation: "installation-0000-0002")
        first = try await stack.refresh(first.refreshToken)
        let proof = try #require(first.verdictKeyProof)
        #expect(try signer(of: proof) == kid(FixedKeys.verdict))
        let decoded = try DecodedToken(proof)
        #expect(decoded.header["typ"] == "verdict-key+jwt")
        #expect(decoded.claims == first.verdictKey.json)
        #expect(first.verdictKey.kid == kid(FixedKeys.nextVerdict))

        stack.clock.advance(by: .hours(1))
        setKeys([
            (.retired, start + .minutes(30)), (.retired, start + .minutes(90)), (.current, start + .minutes(90)),
        ])
        for (answer, key) in [(first, FixedKeys.verdict), (second, FixedKeys.nextVerdict)] {
            let next = try await stack.refresh(answer.refreshToken)
            #expect(next.verdictKey.kid == kid(FixedKeys.thirdVerdict))
            #expect(try signer(of: #require(next.verdictKeyProof)) == kid(key))
        }
        // The same session presented once more is no new sign-in to a client that only asks for access tokens.
        let access = try await stack.accessToken()
        #expect(try signer(of: #require(access.verdictKeyProof)) == kid(FixedKeys.verdict))
    }

    @Test("a verdict is proved by the key that its client signed in under, which may never have heard of another")
    func verdicts() async throws {
        let answer = try await stack.exchange()
        let start = stack.clock.now()
        stack.clock.advance(by: .days(1))
        setKeys([(.retired, start + .hours(1)), (.current, start + .hours(1))])
        let later = try await stack.exchange(installation: "installation-0000-0002")
        stack.putSession("anew", of: "ada")
        let anew = try await stack.exchange("anew", installation: "installation-0000-0003")
        for device in [answer, later, anew].compactMap(\.deviceID) {
            stack.store.setStatus(.lost, of: device, at: stack.clock.now())
        }
        for (presented, key) in [
            (answer, FixedKeys.verdict), (later, FixedKeys.nextVerdict), (anew, FixedKeys.nextVerdict),
        ] {
            let token = try presented.refreshToken
            let verdict = try await refusal { () async throws(AuthFailure) in try await stack.refresh(token) }
            #expect(verdict.action == .wipe)
            #expect(try signer(of: #require(verdict.proof)) == kid(key))
        }
        // The session was first presented under the first key, the other one under its successor.
        for (name, key) in [("ada", FixedKeys.verdict), ("anew", FixedKeys.nextVerdict)] {
            let verdict = try await refusal { () async throws(AuthFailure) in try await stack.exchange(name) }
            #expect(verdict.action == .wipe && verdict.deviceID != nil)
            #expect(try signer(of: #require(verdict.proof)) == kid(key))
        }
    }

    @Test("servers follow a rotation within a minute: a sign-in of that time counts as one under the older key")
    func following() async throws {
        let start = stack.clock.now()
        setKeys([(.retired, start), (.current, start)])
        for (seconds, key) in [(Int64(0), FixedKeys.verdict), (59, FixedKeys.verdict), (60, FixedKeys.nextVerdict)] {
            stack.clock.set(start + .seconds(seconds))
            stack.putSession("at-\(seconds)", of: "ada")
            let answer = try await stack.exchange("at-\(seconds)")
            stack.store.end(try stack.session(answer).id, reason: .signedOut, at: stack.clock.now())
            let token = try answer.refreshToken
            let verdict = try await refusal { () async throws(AuthFailure) in try await stack.refresh(token) }
            #expect(try signer(of: #require(verdict.proof)) == kid(key), "\(seconds)")
        }
    }

    @Test(
        "once a verdict key has leaked its successor says lock where it would say wipe, until the next sign-in",
        arguments: [VerdictPolicy.careful, .strict])
    func compromised(policy: VerdictPolicy) async throws {
        let stack = TokenStack { $0.verdictPolicy = policy }
        let old = try await stack.exchange()
        stack.clock.advance(by: .hours(1))
        let leak = stack.clock.now()
        let half = PublicHalf(
            purpose: .verdict, state: .compromised, jwk: JWK(FixedKeys.verdict.publicKey),
            createdAt: FixedKeys.createdAt, stateAt: leak)
        let pairs = [
            FixedKeys.pair(.access, .current, FixedKeys.signing),
            FixedKeys.pair(.refresh, .current, FixedKeys.refresh),
            FixedKeys.pair(.verdict, .current, FixedKeys.nextVerdict, stateAt: leak),
        ]
        stack.keys.set(FixedKeys.ring(pairs, publicHalves: [half]))
        let refreshed = try await stack.refresh(old.refreshToken)
        #expect(refreshed.verdictKey.kid == kid(FixedKeys.nextVerdict) && refreshed.verdictKeyProof == nil)

        stack.clock.advance(by: .hours(1))
        stack.putSession("anew", of: "ada")
        let anew = try await stack.exchange("anew", installation: "installation-0000-0002")
        for device in [old, anew].compactMap(\.deviceID) {
            stack.store.setStatus(.lost, of: device, at: stack.clock.now())
        }
        for (presented, action) in [(refreshed, ClientAction.lock), (anew, .wipe)] {
            let token = try presented.refreshToken
            let verdict = try await refusal { () async throws(AuthFailure) in try await stack.refresh(token) }
            #expect(verdict.reason == .deviceLost && verdict.action == action)
            let proof = try #require(verdict.proof)
            #expect(try signer(of: proof) == kid(FixedKeys.nextVerdict))
            #expect(try DecodedToken(proof).claims["action"] == .string(action.rawValue))
        }
        for (name, action) in [("ada", ClientAction.lock), ("anew", .wipe)] {
            let verdict = try await refusal { () async throws(AuthFailure) in try await stack.exchange(name) }
            #expect(verdict.reason == .deviceLost && verdict.action == action)
        }
    }

    @Test("a proof of a verdict key passes nowhere as a token")
    func otherUse() async throws {
        let answer = try await stack.exchange()
        stack.clock.advance(by: .hours(1))
        setKeys([(.retired, stack.clock.now()), (.current, stack.clock.now())])
        let proof = try #require(try await stack.refresh(answer.refreshToken).verdictKeyProof)
        let gate = try await refusal { () async throws(AuthFailure) in try await stack.gate.authenticate(proof) }
        #expect(gate.reason == .tokenForeign)
        let refresh = try await refusal { () async throws(AuthFailure) in try await stack.refresh(proof) }
        #expect(refresh.reason == .tokenForeign)
    }
}
