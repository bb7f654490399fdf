import JSON

extension APISchema {
    /// One answer of this shape; names, ids and times agree over all of them.
    var example: JSONObject {
        switch self {
        case .refusal: ["error": "invalid_grant"]
        case .tokens: AnswerExamples.tokens
        case .sessionToken: AnswerExamples.sessionToken
        case .introspection: AnswerExamples.introspection
        case .revocations: AnswerExamples.revocations
        case .session: AnswerExamples.session
        case .device: AnswerExamples.device
        case .deviceList: ["devices": [.object(AnswerExamples.device)]]
        case .currentDevice: AnswerExamples.with(AnswerExamples.device, [("offline", .object(AnswerExamples.offline))])
        case .offline: AnswerExamples.offline
        case .keySet: ["keys": [.object(AnswerExamples.publicKey)]]
        case .publicKey: AnswerExamples.publicKey
        case .serverMetadata: AnswerExamples.metadata
        case .openIDConfiguration:
            AnswerExamples.with(
                AnswerExamples.metadata,
                [
                    ("subject_types_supported", ["public"]), ("id_token_signing_alg_values_supported", ["RS256"]),
                    ("claims_supported", ["iss", "sub", "aud", "iat", "exp"]),
                ])
        case .liveness: ["status": "alive"]
        case .readiness:
            [
                "status": "ready",
                "checks": ["database": "ok", "signing_key": "ok", "clock": "ok", "identity_store": "ok"],
            ]
        case .version: ["name": "sallyport", "version": "1.0.0"]
        case .apiDescription: ["openapi": "3.1.0", "paths": [:]]
        }
    }
}

private enum AnswerExamples {
    static let deviceID: JSONValue = "0b8a4f0e-6f3c-4a53-9f0e-0f6d2c9b7a11"
    static let sid: JSONValue = "5d0c7a52-1f5e-4c0b-8a7d-2b9f3e6c4d10"
    static let issuer: JSONValue = "https://auth.example.com"
    /// No real token: one in a document ends in somebody's scanner.
    static let accessToken: JSONValue = "header.access-claims.signature"

    static func with(_ object: JSONObject, _ more: [(String, JSONValue)]) -> JSONObject {
        var object = object
        for (name, value) in more { object[name] = value }
        return object
    }

    static let access: JSONObject = [
        "token_type": "Bearer", "access_token": accessToken, "expires_in": 1_800, "expires_at": 1_790_001_800,
        "scope": "api sync", "sid": sid, "device_id": deviceID, "server_time": 1_790_000_000,
        "verdict_key": .object(publicKey),
    ]

    static let tokens = with(
        access,
        [
            ("refresh_token", "header.refresh-claims.signature"), ("refresh_expires_in", 2_592_000),
            ("refresh_expires_at", 1_792_592_000), ("session_expires_in", 7_776_000),
            ("session_expires_at", 1_797_776_000), ("reauth_soon", false), ("offline", .object(offline)),
        ])

    static let sessionToken = with(access, [("token", accessToken)])

    static let offline: JSONObject = [
        "read_for": 2_592_000, "read_until": 1_792_592_000, "write_for": 604_800, "write_until": 1_790_604_800,
        "policy_version": 1,
    ]

    static let publicKey: JSONObject = [
        "kty": "RSA", "use": "sig", "alg": "RS256", "kid": "thumbprint-of-the-key", "n": "modulus", "e": "AQAB",
    ]

    static let introspection: JSONObject = [
        "active": true, "token_type": "Bearer", "iss": issuer, "sub": "user-1", "aud": [issuer, "powersync"],
        "iat": 1_790_000_000, "exp": 1_790_001_800, "jti": "id-of-the-token", "client_id": "app", "scope": "api sync",
        "sid": sid, "device_id": deviceID, "email_verified": true, "auth_time": 1_789_999_000, "amr": ["session"],
    ]

    static let revocations: JSONObject = [
        "cursor": "opaque",
        "revocations": [
            [
                "sid": sid, "device_id": deviceID, "reason": "device_lost", "revoked_at": 1_790_000_000,
                "expires_at": 1_790_001_800,
            ]
        ],
    ]

    static let device: JSONObject = [
        "id": deviceID, "installation_id": "installation-0001", "platform": "ios", "name": "Ada's phone",
        "model": "iPhone15,2", "os_version": "17.5", "app_version": "3.2.1", "status": "active",
        "created_at": 1_789_000_000, "last_seen_at": 1_790_000_000, "last_sync_at": nil, "push_registered": false,
        "current": true,
    ]

    static let session: JSONObject = [
        "user": ["id": "user-1", "name": "Ada", "email": "ada@example.com"], "verified": true, "scope": "api sync",
        "client_id": "app", "sid": sid, "device_id": deviceID, "device": .object(device),
        "session": [
            "auth_time": 1_789_999_000, "access_expires_in": 1_800, "access_expires_at": 1_790_001_800,
            "created_at": 1_789_999_000, "refresh_expires_in": 2_592_000, "refresh_expires_at": 1_792_592_000,
            "expires_in": 7_776_000, "expires_at": 1_797_776_000,
        ],
        "offline": .object(offline), "server": ["name": "sallyport", "version": "1.0.0"],
        "features": ["push_tokens": false, "sign_in": false, "pairing": false], "server_time": 1_790_000_000,
    ]

    static let metadata: JSONObject = [
        "issuer": issuer, "token_endpoint": "https://auth.example.com/auth/token",
        "jwks_uri": "https://auth.example.com/.well-known/jwks.json",
        "revocation_endpoint": "https://auth.example.com/auth/revoke",
        "introspection_endpoint": "https://auth.example.com/auth/introspect", "scopes_supported": ["api", "sync"],
        "response_types_supported": ["code"],
        "grant_types_supported": ["refresh_token", "urn:ietf:params:oauth:grant-type:token-exchange"],
        "token_endpoint_auth_methods_supported": ["none"], "revocation_endpoint_auth_methods_supported": ["none"],
        "introspection_endpoint_auth_methods_supported": ["client_secret_basic"],
    ]
}
