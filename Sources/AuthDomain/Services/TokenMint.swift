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
    func answer(
        _ grant: AccessGrant, refresh: RefreshPart?, keyring: Keyring, at now: Timestamp
    ) async throws(AuthFailure) -> TokenAnswer {
        let access = JWS.signingInput(
            header: JWTHeader(type: AccessGrant.type, kid: keyring.signing.kid).json,
            claims: grant.claims(issuer: policy.issuer, tokenID: tokenID(), at: now))
        var requests = [SignatureRequest(key: keyring.signing.privateKey, message: access)]
        if let refresh {
            let input = RefreshToken.signingInput(
                refresh.issued, sessionID: refresh.sessionID, userID: refresh.userID, secret: refresh.secret,
                policy: policy)
            requests.append(SignatureRequest(key: refresh.key.privateKey, message: input))
        }
        let signatures = try await sign(requests)
        return TokenAnswer(
            accessToken: JWS.compact(signingInput: access, signature: signatures[0]),
            accessExpiresAt: grant.expiresAt(from: now),
            refresh: refresh.map { part in
                TokenAnswer.Refresh(
                    token: JWS.compact(signingInput: requests[1].message, signature: signatures[1]),
                    expiresAt: part.issued.expiresAt,
                    sessionExpiresAt: part.sessionExpiresAt,
                    isReauthSoon: part.sessionExpiresAt - now < policy.refreshLifetime,
                    offline: OfflinePolicy(
                        refreshExpiresAt: part.issued.expiresAt, refreshedAt: now, write: policy.offlineWrite))
            },
            scopes: grant.scopes, sessionID: grant.sessionID, deviceID: grant.deviceID,
            verdictKey: keyring.verdict.jwk, now: now)
    }

    /// The refusal as a failure, with its proof where the client is told to lock or wipe.
    ///
    /// - Parameter presented: the credential as it was sent; the proof holds only its hash.
    func refuse(
        _ reason: RefusalReason, isDeviceHeld: Bool = false, sessionID: String? = nil, deviceID: UUID? = nil,
        presented: String, keyring: Keyring, at now: Timestamp
    ) async -> AuthFailure {
        var refusal = Refusal(
            reason, action: policy.verdictPolicy.action(for: reason, isDeviceHeld: isDeviceHeld),
            sessionID: sessionID, deviceID: deviceID)
        guard refusal.action == .lock || refusal.action == .wipe else { return .refused(refusal) }
        let input = VerdictProof.signingInput(
            refusal, presented: presented, kid: keyring.verdict.kid, issuer: policy.issuer, tokenID: tokenID(),
            at: now)
        do throws(AuthFailure) {
            let signature = try await sign([SignatureRequest(key: keyring.verdict.privateKey, message: input)])[0]
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
