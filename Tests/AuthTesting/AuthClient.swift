import AuthDomain
import Foundation
import JOSE
package import JSON
import Primitives

/// The calls that an app makes, over a socket.
package struct AuthClient: Sendable {
    package static let exchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange"
    package static let sessionType = "urn:sallyport:token-type:session"

    /// Kept running by its client.
    package let server: ServerUnderTest
    package let http: HTTPClient

    package init(_ server: ServerUnderTest) throws {
        self.server = server
        http = try server.client
    }

    package func get(_ target: String, bearer: String? = nil) throws -> HTTPAnswer {
        try http.send("GET", target, fields: Self.authorization(bearer))
    }

    package func call(
        _ method: String, _ target: String, bearer: String? = nil, json: JSONObject? = nil
    ) throws -> HTTPAnswer {
        let type = json.map { _ in [("Content-Type", "application/json")] } ?? []
        return try http.send(
            method, target, fields: Self.authorization(bearer) + type, body: json.map { $0.encoded() })
    }

    /// `POST /auth/token` with a form.
    package func token(_ form: [(String, String)], fields: [(String, String)] = []) throws -> HTTPAnswer {
        try http.send(
            "POST", "/auth/token", fields: fields + [("Content-Type", "application/x-www-form-urlencoded")],
            body: Array(FormCoding.encode(form.map { (name: $0.0, value: $0.1) }).utf8))
    }

    /// - Parameter installation: `nil` is an exchange without a device.
    package func exchange(
        _ signed: String, installation: String? = "installation-0001", fields: [(String, String)] = []
    ) throws -> HTTPAnswer {
        try token(
            [
                ("grant_type", Self.exchangeGrant), ("subject_token", signed),
                ("subject_token_type", Self.sessionType),
            ], fields: (installation.map(Self.device) ?? []) + fields)
    }

    package func refresh(_ token: String, key: String? = nil) throws -> HTTPAnswer {
        try self.token(
            [("grant_type", "refresh_token"), ("refresh_token", token)],
            fields: key.map { [("Idempotency-Key", $0)] } ?? [])
    }

    /// The exchange of a session on a device, which has to succeed.
    package func signedIn(_ signed: String, installation: String = "installation-0001") throws -> TokenPair {
        try TokenPair(exchange(signed, installation: installation))
    }

    package func refreshed(_ token: String, key: String? = nil) throws -> TokenPair {
        try TokenPair(refresh(token, key: key))
    }

    package static func device(_ installation: String) -> [(String, String)] {
        [("X-Device-Id", installation), ("X-Device-Platform", "ios"), ("X-Device-Name", "Ada's phone")]
    }

    private static func authorization(_ bearer: String?) -> [(String, String)] {
        bearer.map { [("Authorization", "Bearer \($0)")] } ?? []
    }
}

/// A token answer with a refresh token.
package struct TokenPair: Sendable {
    package enum Problem: Error {
        case refused(HTTPAnswer)
    }

    package let answer: HTTPAnswer
    package let access: String
    package let refresh: String
    package let sid: String
    package let deviceID: String

    package init(_ answer: HTTPAnswer) throws {
        guard answer.status == 200 else { throw Problem.refused(answer) }
        self.answer = answer
        access = try answer.text("access_token")
        refresh = try answer.text("refresh_token")
        sid = try answer.text("sid")
        deviceID = try answer.text("device_id")
    }

    package var accessClaims: JSONObject { get throws { try Self.claims(access) } }
    package var refreshClaims: JSONObject { get throws { try Self.claims(refresh) } }

    package var generation: Int64? { get throws { try refreshClaims["gen"]?.integerValue } }

    /// What a token says, unproved.
    package static func claims(_ token: String) throws -> JSONObject {
        guard let claims = try JSONParser.parse(UnverifiedJWS(token).payload).objectValue else {
            throw HTTPClient.Problem.malformedAnswer
        }
        return claims
    }
}
