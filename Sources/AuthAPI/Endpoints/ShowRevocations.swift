import AuthDomain
import HTTP
import JSON
import Primitives
import Telemetry

/// `GET /auth/revocations`: what ended while an access token of it may still be accepted. For resource servers.
///
/// With `wait` it answers as soon as there is news: something behind the cursor `since`, or, for a reader that sends
/// `If-None-Match`, another list than the one it has.
struct ShowRevocations: Sendable {
    let feed: RevocationFeed

    var route: Route {
        Route(
            "showRevocations", .get, "/auth/revocations",
            "What ended while an access token of it may still be accepted, for resource servers.",
            inputs: [
                RouteInput("since", .query, about: "The cursor of an earlier answer."),
                RouteInput("wait", .query, .integer, about: "Seconds to wait for news, up to 30."),
                RouteInput("If-None-Match", .header),
            ],
            answers: [.ok(.revocations), .notModified],
            errors: [.rejected(.malformed)] + Unavailability.allCases.map(APIErrorCode.unavailable), level: .debug,
            handler: .resourceServer(handle))
    }

    private func handle(_ request: APIRequest) async throws(APIFailure) -> HTTPResponse {
        let query = try QueryParameters(request)
        let cursor = query.text("since").flatMap { $0.isEmpty ? nil : $0 }
        let wait = try wait(query.text("wait"))
        let condition = request.http.fields["if-none-match"]
        let page: RevocationPage
        do throws(AuthFailure) {
            page = try await feed.page(since: cursor, wait: wait) { page in
                if let condition { return !Self.tag(page).matches(ifNoneMatch: condition) }
                return cursor == nil || !page.revocations.isEmpty
            }
        } catch {
            throw APIFailure(translating: error)
        }
        let tag = Self.tag(page)
        let fields: HTTPFields = ["ETag": "W/" + tag.text]
        if let condition, tag.matches(ifNoneMatch: condition), !page.isReset {
            return HTTPResponse(status: .notModified, fields: fields)
        }
        return .json(Self.body(page), fields: fields)
    }

    private func wait(_ text: String?) throws(APIFailure) -> Duration {
        guard let text else { return .zero }
        guard let seconds = Int64(text), (0...Limits.revocationWaitSecondsMax).contains(seconds) else {
            throw APIFailure(.malformed, "wait is not a number of seconds up to \(Limits.revocationWaitSecondsMax).")
        }
        return .seconds(seconds)
    }

    /// Of the list alone: a cursor moves with every transaction, and the older one stays as good.
    private static func tag(_ page: RevocationPage) -> EntityTag { EntityTag(of: list(page).encoded()) }

    private static func body(_ page: RevocationPage) -> JSONObject {
        var body: JSONObject = ["cursor": .string(page.cursor), "revocations": list(page)]
        if page.isReset { body["reset"] = true }
        return body
    }

    private static func list(_ page: RevocationPage) -> JSONValue {
        .array(page.revocations.map { .object($0.json) })
    }
}

extension Revocation {
    fileprivate var json: JSONObject {
        var json: JSONObject =
            switch subject {
            case .session(let id): ["sid": .string(id)]
            case .token(let id): ["jti": .string(id)]
            }
        if let deviceID { json["device_id"] = .string(deviceID.description) }
        json["reason"] = .string(reason)
        json["revoked_at"] = .integer(revokedAt.secondsSinceEpoch)
        json["expires_at"] = .integer(expiresAt.secondsSinceEpoch)
        return json
    }
}
