import Crypto
import JOSE
import JSON
import Primitives

/// Refresh tokens made from a row.
///
/// `jti` is derived from the device session's secret and the generation, so that the successor can be minted again byte
/// for byte (RS256 is deterministic) and a leaked signing key alone mints none.
enum RefreshToken {
    static let type = "rt+jwt"

    /// What a signature covers. The order of the claims is part of "byte for byte".
    static func signingInput(
        _ issued: IssuedRefresh, sessionID: UUID, userID: String, secret: Secret<[UInt8]>, policy: AuthPolicy
    ) -> [UInt8] {
        JWS.signingInput(
            header: JWTHeader(type: type, kid: issued.kid).json,
            claims: [
                "iss": .string(policy.issuer),
                "aud": .string(policy.tokenEndpoint),
                "sub": .string(userID),
                "sid": .string(sessionID.description),
                "gen": .integer(issued.generation),
                "jti": .string(tokenID(generation: issued.generation, secret: secret)),
                "iat": .integer(issued.issuedAt.secondsSinceEpoch),
                "exp": .integer(issued.expiresAt.secondsSinceEpoch),
            ])
    }

    static func tokenID(generation: Int64, secret: Secret<[UInt8]>) -> String {
        let code = HMACSHA256.code(key: secret.exposed, message: Array("refresh-jti\0\(generation)".utf8))
        return Base64URL.encode(code.prefix(16))
    }
}

/// A refresh token whose signature, type, issuer and audience are proved; its `jti` is not yet, which takes the row.
struct SignedRefresh: Sendable {
    let sessionID: UUID
    let userID: String
    let generation: Int64
    let issuedAt: Timestamp
    let expiresAt: Timestamp
    let tokenID: String

    /// - Throws: `JOSEError`; `unknownKey` where another look at the keys may help.
    init(_ jws: UnverifiedJWS, keyring: Keyring, policy: AuthPolicy, at now: Timestamp) throws(JOSEError) {
        let verified = try JWTVerifier.verify(
            jws, keys: keyring.refreshVerifier,
            policy: JWTPolicy(
                type: .oneOf([RefreshToken.type]), issuers: [policy.issuer], audiences: [policy.tokenEndpoint],
                aheadMax: Limits.refreshIssuedAheadMax, expiry: .isLeftToTheCaller,
                requiredClaims: ["sid", "gen", "jti"]),
            now: now)
        guard let sessionID = verified.claims["sid"]?.stringValue.flatMap({ UUID($0) }) else {
            throw .claimInvalid("sid")
        }
        guard let generation = verified.claims["gen"]?.integerValue, generation > 0, generation < .max else {
            throw .claimInvalid("gen")
        }
        guard let tokenID = verified.claims["jti"]?.stringValue else { throw .claimInvalid("jti") }
        self.sessionID = sessionID
        self.tokenID = tokenID
        self.generation = generation
        userID = verified.subject
        issuedAt = verified.issuedAt
        expiresAt = verified.expiresAt
    }

    /// Whether it was issued by a clock that ours reaches in a moment. One that is further ahead is taken as it is: a client
    /// must not wait for hours.
    func isAhead(of now: Timestamp) -> Bool {
        (now + Limits.clockError < issuedAt) && issuedAt <= now + Limits.issuedAheadMax
    }

    /// Its own `exp`, but no later than the row's, where the row has it: with a stolen refresh key an old token could be
    /// given a new life otherwise.
    func end(by current: IssuedRefresh) -> Timestamp {
        generation == current.generation ? min(expiresAt, current.expiresAt) : expiresAt
    }

    func isDerived(from secret: Secret<[UInt8]>) -> Bool {
        let expected = RefreshToken.tokenID(generation: generation, secret: secret)
        return areEqualInConstantTime(Array(expected.utf8), Array(tokenID.utf8))
    }
}
