import AuthDomain
import HTTP
import JOSE
import JSON
import Primitives

extension TokenAnswer {
    /// Contract section 4, in its order.
    ///
    /// - Parameter repeatsToken: adds `token`, the same JWT under the name that Better Auth's clients look for.
    func json(repeatsToken: Bool = false) -> JSONObject {
        var body: JSONObject = ["token_type": "Bearer", "access_token": .string(accessToken)]
        if repeatsToken { body["token"] = .string(accessToken) }
        body["expires_in"] = seconds(until: accessExpiresAt)
        body["expires_at"] = .integer(accessExpiresAt.secondsSinceEpoch)
        if let refresh {
            body["refresh_token"] = .string(refresh.token)
            body["refresh_expires_in"] = seconds(until: refresh.expiresAt)
            body["refresh_expires_at"] = .integer(refresh.expiresAt.secondsSinceEpoch)
            body["session_expires_in"] = seconds(until: refresh.sessionExpiresAt)
            body["session_expires_at"] = .integer(refresh.sessionExpiresAt.secondsSinceEpoch)
            body["reauth_soon"] = .bool(refresh.isReauthSoon)
        }
        body["scope"] = .string(scopes.description)
        body["sid"] = .string(sessionID)
        if let deviceID { body["device_id"] = .string(deviceID.description) }
        body["server_time"] = .integer(now.secondsSinceEpoch)
        body["verdict_key"] = .object(verdictKey.json)
        if let verdictKeyProof { body["verdict_key_proof"] = .string(verdictKeyProof) }
        if let refresh { body["offline"] = .object(refresh.offline.json(at: now)) }
        return body
    }

    /// RFC 6749 §5.1: never kept by a cache.
    static var fields: HTTPFields { ["Cache-Control": "no-store", "Pragma": "no-cache"] }

    private func seconds(until instant: Timestamp) -> JSONValue { .integer(instant.seconds(from: now)) }
}

extension OfflinePolicy {
    func json(at now: Timestamp) -> JSONObject {
        [
            "read_for": .integer(max(0, readUntil.seconds(from: now))),
            "read_until": .integer(readUntil.secondsSinceEpoch),
            "write_for": .integer(max(0, writeUntil.seconds(from: now))),
            "write_until": .integer(writeUntil.secondsSinceEpoch),
            "policy_version": .integer(OfflinePolicy.version),
        ]
    }
}

extension Timestamp {
    /// Whole seconds of both, so that a duration and the two instants around it always agree.
    func seconds(from start: Timestamp) -> Int64 { secondsSinceEpoch - start.secondsSinceEpoch }
}
