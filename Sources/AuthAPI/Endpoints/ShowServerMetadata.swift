import AuthDomain
import HTTP
import JSON
import Telemetry

/// `GET /.well-known/oauth-authorization-server`: where things are and what is understood. Source: RFC 8414 §2, §3.
struct ShowServerMetadata: Sendable {
    static let path = "/.well-known/oauth-authorization-server"

    private let metadata: CachedDocument

    init(policy: AuthPolicy) {
        metadata = CachedDocument(ServerMetadata(policy).json)
    }

    var route: Route {
        Route(
            "showServerMetadata", .get, RoutePattern(stringLiteral: Self.path),
            "Where this server's endpoints are (RFC 8414).", inputs: [RouteInput("If-None-Match", .header)],
            answers: [.ok(.serverMetadata), .notModified], level: .debug,
            handler: .open { request in metadata.response(to: request) })
    }
}

/// `GET /.well-known/openid-configuration`: the same where OpenID clients look, with what they require.
///
/// There are no ID tokens and there is no authorization endpoint. Source: OpenID Connect Discovery 1.0 §3, §4.
struct ShowOpenIDConfiguration: Sendable {
    static let path = "/.well-known/openid-configuration"

    private let metadata: CachedDocument

    init(policy: AuthPolicy) {
        metadata = CachedDocument(ServerMetadata(policy).openIDJSON)
    }

    var route: Route {
        Route(
            "showOpenIDConfiguration", .get, RoutePattern(stringLiteral: Self.path),
            "The same for readers of OpenID Connect Discovery.", inputs: [RouteInput("If-None-Match", .header)],
            answers: [.ok(.openIDConfiguration), .notModified], level: .debug,
            handler: .open { request in metadata.response(to: request) })
    }
}

/// What the two documents say. Every endpoint is below the issuer.
struct ServerMetadata {
    private let policy: AuthPolicy

    init(_ policy: AuthPolicy) {
        self.policy = policy
    }

    var json: JSONObject {
        [
            "issuer": .string(policy.issuer),
            "token_endpoint": .string(policy.tokenEndpoint),
            "jwks_uri": .string(policy.keySetAddress),
            "revocation_endpoint": .string(policy.issuer + "/auth/revoke"),
            "introspection_endpoint": .string(policy.issuer + "/auth/introspect"),
            "scopes_supported": .array(policy.scopes.names.map(JSONValue.string)),
            // RFC 8414 §2 demands it and §3.2 forbids an empty one, though no endpoint here takes a response type.
            "response_types_supported": ["code"],
            "grant_types_supported": .array(GrantTokens.Grant.allCases.map { .string($0.rawValue) }),
            "token_endpoint_auth_methods_supported": ["none"],
            "revocation_endpoint_auth_methods_supported": ["none"],
            "introspection_endpoint_auth_methods_supported": ["client_secret_basic"],
        ]
    }

    var openIDJSON: JSONObject {
        var document = json
        document["subject_types_supported"] = ["public"]
        document["id_token_signing_alg_values_supported"] = ["RS256"]
        document["claims_supported"] = [
            "iss", "sub", "aud", "iat", "exp", "jti", "client_id", "scope", "sid", "device_id", "email_verified",
            "auth_time", "amr",
        ]
        return document
    }
}
