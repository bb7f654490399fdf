import Crypto
import JOSE
import JSON
import Primitives

/// Makes tokens and proofs as text: the one place where claims, keys and the signer meet.
struct TokenMint: Sendable {
    let policy: AuthPolicy
    let signer: any TokenSigner
    let random: any RandomSource

    /// A refresh token to make, or to make again.
    struct RefreshPart {
        let issued: IssuedRefresh
        let key: KeyPair
        let sessionID: UUID
        let userID: String
        let secret: Secret<[UInt8]>
        let sessionExpiresAt: Timestamp
    }

    /// Signs everything of one answer as one batch.
    ///
    /// - Parameter signIn: when the client was first answered, and given the verdict key of then.
    func answer(
        _ grant: AccessGrant, refresh: RefreshPart?, since signIn: Timestamp?, keyring: Keyring, at now: Timestamp
    ) async throws(AuthFailure) -> TokenAnswer {
        let access = JWS.signingInput(
            header: JWTHeader(type: policy.accessTokenType.rawValue, kid: keyring.signing.kid).json,
            claims: grant.claims(issuer: policy.issuer, tokenID: tokenID(), at: now))
        var requests = [SignatureRequest(key: keyring.signing.privateKey, message: access)]
        var keyProofIndex: Int?
        if let refresh {
            let input = RefreshToken.signingInput(
                refresh.issued, sessionID: refresh.sessionID, userID: refresh.userID, secret: refresh.secret,
                policy: policy)
            requests.append(SignatureRequest(key: refresh.key.privateKey, message: input))
        }
        let believed = signIn.flatMap { keyring.verdict(shownAt: $0) }
        if let believed, believed.kid != keyring.verdict.kid {
            let input = VerdictKeyProof.signingInput(keyring.verdict.jwk, kid: believed.kid)
            keyProofIndex = requests.count
            requests.append(SignatureRequest(key: believed.privateKey, message: input))
        }
        let signatures = try await sign(requests)
        func compact(_ index: Int) -> String {
            JWS.compact(signingInput: requests[index].message, signature: signatures[index])
        }
        return TokenAnswer(
            accessToken: compact(0),
            accessExpiresAt: grant.expiresAt(from: now),
            refresh: refresh.map { part in
                TokenAnswer.Refresh(
                    token: compact(1),
                    expiresAt: part.issued.expiresAt,
                    sessionExpiresAt: part.sessionExpiresAt,
                    isReauthSoon: part.sessionExpiresAt - now < policy.refreshLifetime,
                    offline: OfflinePolicy(
                        refreshExpiresAt: part.issued.expiresAt, refreshedAt: now, write: policy.offlineWrite))
            },
            scopes: grant.scopes, sessionID: grant.sessionID, deviceID: grant.deviceID,
            verdictKey: keyring.verdict.jwk, verdictKeyProof: keyProofIndex.map(compact), now: now)
    }

    /// The refusal as a failure, with its proof where the client is told to lock or wipe.
    ///
    /// - Parameters:
    ///   - signIn: when the client was given the verdict key that it believes; `nil` where that is not known.
    ///   - presented: the credential as it was sent; the proof holds only its hash.
    func refuse(
        _ reason: RefusalReason, isDeviceHeld: Bool = false, sessionID: String? = nil, deviceID: UUID? = nil,
        since signIn: Timestamp? = nil, presented: String, keyring: Keyring, at now: Timestamp
    ) async -> AuthFailure {
        var action = policy.verdictPolicy.action(for: reason, isDeviceHeld: isDeviceHeld)
        let believed = signIn.map { keyring.verdict(shownAt: $0) } ?? keyring.verdict
        // Contract section 5: after a verdict key has leaked, its successor says lock only, until the next sign-in.
        if action == .wipe, believed == nil { action = .lock }
        var refusal = Refusal(reason, action: action, sessionID: sessionID, deviceID: deviceID)
        guard action == .lock || action == .wipe else { return .refused(refusal) }
        let key = believed ?? keyring.verdict
        let input = VerdictProof.signingInput(
            refusal, presented: presented, kid: key.kid, issuer: policy.issuer, tokenID: tokenID(), at: now)
        do throws(AuthFailure) {
            let signature = try await sign([SignatureRequest(key: key.privateKey, message: input)])[0]
            refusal.proof = JWS.compact(signingInput: input, signature: signature)
            return .refused(refusal)
        } catch {
            // A verdict that cannot be proved is not given.
            return error
        }
    }

    private func sign(_ requests: [SignatureRequest]) async throws(AuthFailure) -> [[UInt8]] {
        do throws(Unavailability) {
            return try await signer.sign(requests)
        } catch {
            throw .unavailable(error)
        }
    }

    private func tokenID() -> String { Base64URL.encode(random.bytes(16)) }
}
