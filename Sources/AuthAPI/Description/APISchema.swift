import AuthDomain
import JSON
import Primitives

/// The shapes of all answers, each described once. `TokenAnswer+JSON` and its neighbours write them.
enum APISchema: String, CaseIterable, Sendable {
    case refusal, tokens, sessionToken, introspection, revocations, session, device, deviceList, currentDevice, offline,
        keySet
    case publicKey, serverMetadata, openIDConfiguration, liveness, readiness, version, apiDescription

    /// In upper camel case, as generated clients want it.
    var name: String { rawValue.prefix(1).uppercased() + rawValue.dropFirst() }

    var sentence: String {
        switch self {
        case .refusal: "Why not, and what the client is to do (`client_action`)."
        case .tokens: "New tokens. The refresh members come with a device."
        case .sessionToken: "An access token, also under the names that Better Auth's clients look for."
        case .introspection: "What a live token says; exactly `active: false` for everything else."
        case .revocations: "What ended, and where the next answer begins."
        case .session: "The caller, the device and what they may count on."
        case .device, .currentDevice: "The device."
        case .deviceList: "The user's devices."
        case .offline: "How long an app may go on without the server."
        case .keySet: "The keys: the signing one first."
        case .publicKey: "A public RSA key."
        case .serverMetadata, .openIDConfiguration: "The metadata."
        case .liveness: "The process answers."
        case .readiness: "Requests may come."
        case .version: "The version."
        case .apiDescription: "This description, as OpenAPI 3.1."
        }
    }

    var schema: JSONObject {
        switch self {
        case .refusal: Self.refusalSchema
        case .tokens: Self.tokensSchema
        case .sessionToken: Self.sessionTokenSchema
        case .introspection: Self.introspectionSchema
        case .revocations: Self.revocationsSchema
        case .session: Self.sessionSchema
        case .device: JSONSchema.object(Self.deviceMembers)
        case .deviceList: JSONSchema.object([("devices", JSONSchema.list(of: JSONSchema.reference(.device)))])
        case .currentDevice:
            JSONSchema.object(Self.deviceMembers, optional: [("offline", JSONSchema.reference(.offline))])
        case .offline:
            JSONSchema.object(
                ["read_for", "read_until", "write_for", "write_until", "policy_version"].map {
                    ($0, JSONSchema.seconds)
                })
        case .keySet: JSONSchema.object([("keys", JSONSchema.list(of: JSONSchema.reference(.publicKey)))])
        case .publicKey: Self.publicKeySchema
        case .serverMetadata: JSONSchema.object(Self.metadataMembers)
        case .openIDConfiguration:
            JSONSchema.object(
                Self.metadataMembers
                    + ["subject_types_supported", "id_token_signing_alg_values_supported", "claims_supported"]
                    .map { ($0, JSONSchema.texts) })
        case .liveness: JSONSchema.object([("status", JSONSchema.constant("alive"))])
        case .readiness:
            JSONSchema.object([
                ("status", JSONSchema.constant("ready")),
                ("checks", ["type": "object", "additionalProperties": ["type": "string"]]),
            ])
        case .version: JSONSchema.object([("name", JSONSchema.text), ("version", JSONSchema.text)])
        case .apiDescription: JSONSchema.object([("openapi", JSONSchema.text), ("paths", JSONSchema.anything)])
        }
    }

    private static let refusalSchema = JSONSchema.object(
        [
            ("error", JSONSchema.text), ("error_description", JSONSchema.text), ("error_reason", JSONSchema.text),
            ("client_action", JSONSchema.word(ClientAction.allCases.map(\.rawValue))),
            ("server_time", JSONSchema.seconds), ("request_id", JSONSchema.text),
        ],
        optional: [
            ("retry_after", JSONSchema.seconds), ("sid", JSONSchema.text), ("device_id", JSONSchema.uuid),
            ("proof", JSONSchema.text), ("status", JSONSchema.text), ("checks", JSONSchema.anything),
        ])

    private static let accessMembers: [(String, JSONObject)] = [
        ("token_type", JSONSchema.constant("Bearer")), ("access_token", JSONSchema.text),
        ("expires_in", JSONSchema.seconds), ("expires_at", JSONSchema.seconds), ("scope", JSONSchema.text),
        ("sid", JSONSchema.text), ("server_time", JSONSchema.seconds),
        ("verdict_key", JSONSchema.reference(.publicKey)),
    ]

    private static let tokensSchema = JSONSchema.object(
        accessMembers,
        optional: [
            ("refresh_token", JSONSchema.text), ("refresh_expires_in", JSONSchema.seconds),
            ("refresh_expires_at", JSONSchema.seconds), ("session_expires_in", JSONSchema.seconds),
            ("session_expires_at", JSONSchema.seconds), ("reauth_soon", JSONSchema.truth),
            ("device_id", JSONSchema.uuid), ("offline", JSONSchema.reference(.offline)),
            ("issued_token_type", JSONSchema.text), ("verdict_key_proof", JSONSchema.text),
        ])

    private static let sessionTokenSchema = JSONSchema.object(
        accessMembers + [("token", JSONSchema.text)],
        optional: [("device_id", JSONSchema.uuid), ("verdict_key_proof", JSONSchema.text)])

    private static let introspectionSchema = JSONSchema.object(
        [("active", JSONSchema.truth)],
        optional: [
            ("token_type", JSONSchema.text), ("iss", JSONSchema.text), ("sub", JSONSchema.text),
            ("aud", ["anyOf": [.object(JSONSchema.text), .object(JSONSchema.texts)]]), ("iat", JSONSchema.seconds),
            ("exp", JSONSchema.seconds), ("jti", JSONSchema.text), ("client_id", JSONSchema.text),
            ("scope", JSONSchema.text), ("sid", JSONSchema.text), ("device_id", JSONSchema.uuid),
            ("email_verified", JSONSchema.truth), ("auth_time", JSONSchema.seconds), ("amr", JSONSchema.texts),
            ("act", JSONSchema.anything),
        ])

    private static let revocationsSchema = JSONSchema.object(
        [
            ("cursor", JSONSchema.text),
            (
                "revocations",
                JSONSchema.list(
                    of: JSONSchema.object(
                        [
                            ("reason", JSONSchema.text), ("revoked_at", JSONSchema.seconds),
                            ("expires_at", JSONSchema.seconds),
                        ],
                        optional: [
                            ("sid", JSONSchema.text), ("jti", JSONSchema.text), ("device_id", JSONSchema.uuid),
                        ]))
            ),
        ],
        optional: [("reset", JSONSchema.truth)])

    private static let sessionSchema = JSONSchema.object(
        [
            (
                "user",
                JSONSchema.object([
                    ("id", JSONSchema.text), ("name", JSONSchema.textOrNull), ("email", JSONSchema.textOrNull),
                ])
            ),
            ("verified", JSONSchema.truth), ("scope", JSONSchema.text), ("client_id", JSONSchema.text),
            ("sid", JSONSchema.text),
            (
                "session",
                JSONSchema.object(
                    ["auth_time", "access_expires_in", "access_expires_at"].map { ($0, JSONSchema.seconds) },
                    optional: [
                        "created_at", "refresh_expires_in", "refresh_expires_at", "expires_in", "expires_at",
                    ].map { ($0, JSONSchema.seconds) })
            ),
            ("server", JSONSchema.reference(.version)),
            ("features", ["type": "object", "additionalProperties": .object(JSONSchema.truth)]),
            ("server_time", JSONSchema.seconds),
        ],
        optional: [
            ("device_id", JSONSchema.uuid), ("device", JSONSchema.reference(.device)),
            ("offline", JSONSchema.reference(.offline)),
        ])

    private static let deviceMembers: [(String, JSONObject)] = [
        ("id", JSONSchema.uuid), ("installation_id", JSONSchema.text),
        ("platform", JSONSchema.word(DevicePlatform.allCases.map(\.rawValue))), ("name", JSONSchema.textOrNull),
        ("model", JSONSchema.textOrNull), ("os_version", JSONSchema.textOrNull),
        ("app_version", JSONSchema.textOrNull), ("status", JSONSchema.word(DeviceStatus.allCases.map(\.rawValue))),
        ("created_at", JSONSchema.seconds), ("last_seen_at", JSONSchema.seconds),
        ("last_sync_at", JSONSchema.secondsOrNull), ("push_registered", JSONSchema.truth),
        ("current", JSONSchema.truth),
    ]

    private static let publicKeySchema = JSONSchema.object([
        ("kty", JSONSchema.constant("RSA")), ("use", JSONSchema.constant("sig")),
        ("alg", JSONSchema.constant("RS256")), ("kid", JSONSchema.text), ("n", JSONSchema.text),
        ("e", JSONSchema.text),
    ])

    private static let metadataMembers: [(String, JSONObject)] =
        ["issuer", "token_endpoint", "jwks_uri", "revocation_endpoint", "introspection_endpoint"]
        .map { ($0, JSONSchema.text) }
        + [
            "scopes_supported", "response_types_supported", "grant_types_supported",
            "token_endpoint_auth_methods_supported", "revocation_endpoint_auth_methods_supported",
            "introspection_endpoint_auth_methods_supported",
        ].map { ($0, JSONSchema.texts) }
}
