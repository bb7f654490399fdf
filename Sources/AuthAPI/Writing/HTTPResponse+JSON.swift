import HTTP
import JSON
import Telemetry

extension HTTPResponse {
    static func json(_ body: JSONObject, status: HTTPStatus = .ok, fields: HTTPFields = [:]) -> HTTPResponse {
        var all: HTTPFields = ["Content-Type": MediaType.json]
        all.append(contentsOf: fields)
        return HTTPResponse(status: status, fields: all, body: .bytes(body.encoded()))
    }

    /// What every answer of ours carries.
    mutating func complete(_ id: RequestID) {
        if field("cache-control") == nil { fields.append("Cache-Control", "no-store") }
        fields.append("X-Content-Type-Options", "nosniff")
        fields.append("X-Request-Id", id.description)
    }

    static var noContent: HTTPResponse { HTTPResponse(status: .noContent) }
}
