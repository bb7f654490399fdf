import AuthDomain
import HTTP
import JSON
import Primitives

/// `GET /auth/session`: who am I, and what may I count on. What an app asks first when it starts.
struct ShowSession: Sendable {
    let services: APIServices

    var route: Route {
        Route(
            "showSession", .get, "/auth/session",
            "The caller's user, device, session, scope and offline policy, and the server's features.",
            answers: [.ok(.session)],
            handler: .caller(handle))
    }

    private func handle(_ request: APIRequest, _ caller: Caller) async throws(APIFailure) -> HTTPResponse {
        let now = services.clock.now()
        let user = try await domain { () async throws(AuthFailure) in try await services.devices.user(caller) }
        guard let user else {
            try await domain { () async throws(AuthFailure) in
                try await services.tokens.requireCredibleAbsence(at: now)
            }
            let action = services.policy.verdictPolicy.action(for: .accessRevoked, isDeviceHeld: false)
            throw APIFailure(verdict: Refusal(.accessRevoked, action: action))
        }
        var body: JSONObject = [
            "user": ["id": .string(user.id), "name": .text(user.name), "email": .text(user.email)],
            "verified": .bool(user.isVerified),
            "scope": .string(caller.scopes.description),
            "client_id": .string(caller.clientID),
            "sid": .string(caller.sessionID),
        ]
        if let id = caller.deviceID {
            let device = try await domain { () async throws(AuthFailure) in
                try await services.devices.device(id.description, caller)
            }
            body["device_id"] = .string(id.description)
            body["device"] = .object(device.json(for: caller))
        }
        body["session"] = .object(session(caller, at: now))
        if let session = caller.deviceSession {
            body["offline"] = .object(session.offline(services.policy).json(at: now))
        }
        body["server"] = ["name": .string(services.version.name), "version": .string(services.version.version)]
        body["features"] = .object(services.features.json)
        body["server_time"] = .integer(now.secondsSinceEpoch)
        return .json(body)
    }

    /// `expires_…` is the absolute end, `refresh_expires_…` the end without another refresh; both need a device session.
    private func session(_ caller: Caller, at now: Timestamp) -> JSONObject {
        var times: JSONObject = [
            "auth_time": .integer(caller.authTime.secondsSinceEpoch),
            "access_expires_in": .integer(caller.expiresAt.seconds(from: now)),
            "access_expires_at": .integer(caller.expiresAt.secondsSinceEpoch),
        ]
        guard let session = caller.deviceSession else { return times }
        let ends = [("refresh_expires", session.current.expiresAt), ("expires", session.rotation.expiresAt)]
        times["created_at"] = .integer(session.createdAt.secondsSinceEpoch)
        for (name, end) in ends {
            times[name + "_in"] = .integer(end.seconds(from: now))
            times[name + "_at"] = .integer(end.secondsSinceEpoch)
        }
        return times
    }
}

extension FeatureFlags {
    fileprivate var json: JSONObject {
        ["push_tokens": .bool(pushTokens), "sign_in": .bool(signIn), "pairing": .bool(pairing)]
    }
}
