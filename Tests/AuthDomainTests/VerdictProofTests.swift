import AuthDomain
import AuthTesting
import Crypto
import JOSE
import JSON
import Primitives
import Testing

@Suite("Verdict proofs")
struct VerdictProofTests {
    private let stack = TokenStack()

    private func proof(of presented: String) async throws -> (Refusal, DecodedToken) {
        let verdict = try await refusal { () async throws(AuthFailure) in try await stack.refresh(presented) }
        let proof = try #require(verdict.proof)
        try UnverifiedJWS(proof).verifySignature { kid in
            kid == FixedKeys.keyring.verdict.kid ? FixedKeys.verdict.publicKey : nil
        }
        return (verdict, try DecodedToken(proof))
    }

    @Test("a lock or wipe is proved by the verdict key, for this session, device and presented token")
    func claims() async throws {
        let answer = try await stack.exchange()
        #expect(answer.verdictKey.key == FixedKeys.verdict.publicKey)
        #expect(!FixedKeys.keyring.published.contains(answer.verdictKey))
        let token = try answer.refreshToken
        stack.store.setStatus(.revoked, of: try #require(answer.deviceID), at: stack.clock.now())
        let (verdict, proof) = try await proof(of: token)
        #expect(verdict.action == .wipe)
        #expect(proof.header["typ"] == "verdict+jwt")
        #expect(proof.header["kid"] == .string(answer.verdictKey.kid))
        #expect(proof.claims.names == ["iss", "sid", "device_id", "reason", "action", "iat", "jti", "nonce"])
        #expect(proof.claims["iss"] == "https://auth.example.com")
        #expect(proof.claims["sid"] == .string(answer.sessionID))
        #expect(proof.claims["device_id"]?.stringValue == answer.deviceID?.description)
        #expect(proof.claims["reason"] == "device_revoked")
        #expect(proof.claims["action"] == "wipe")
        #expect(proof.claims["iat"] == .integer(stack.clock.now().secondsSinceEpoch))
        #expect(proof.claims["nonce"] == .string(Base64URL.encode(SHA256.hash(Array(token.utf8)))))
    }

    @Test("it passes nowhere as an access or refresh token")
    func otherUse() async throws {
        let answer = try await stack.exchange()
        stack.store.end(try stack.session(answer).id, reason: .signedOut, at: stack.clock.now())
        let verdict = try await refusal { () async throws(AuthFailure) in
            try await stack.refresh(answer.refresh?.token ?? "")
        }
        let proof = try #require(verdict.proof)
        let gate = try await refusal { () async throws(AuthFailure) in try await stack.gate.authenticate(proof) }
        #expect(gate.reason == .tokenForeign)
        let refresh = try await refusal { () async throws(AuthFailure) in try await stack.refresh(proof) }
        #expect(refresh.reason == .tokenForeign)
    }

    @Test("two proofs of one verdict differ in jti, and the action follows the policy")
    func strict() async throws {
        let stack = TokenStack { $0.verdictPolicy = .strict }
        let answer = try await stack.exchange()
        stack.store.end(try stack.session(answer).id, reason: .signedOut, at: stack.clock.now())
        var ids: Set<String> = []
        for _ in 0..<2 {
            let verdict = try await refusal { () async throws(AuthFailure) in
                try await stack.refresh(answer.refresh?.token ?? "")
            }
            #expect(verdict.action == .wipe)
            let claims = try DecodedToken(try #require(verdict.proof)).claims
            #expect(claims["action"] == "wipe")
            ids.insert(try #require(claims["jti"]?.stringValue))
        }
        #expect(ids.count == 2)
    }

    @Test("a verdict that cannot be proved is not given")
    func signerDown() async throws {
        let answer = try await stack.exchange()
        stack.store.end(try stack.session(answer).id, reason: .signedOut, at: stack.clock.now())
        stack.faults.fail(before: .sign, .busy)
        let found = await failure { () async throws(AuthFailure) in
            try await stack.refresh(answer.refresh?.token ?? "")
        }
        #expect(found == .unavailable(.busy))
    }
}
