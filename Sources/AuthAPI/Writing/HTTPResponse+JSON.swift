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
        if !hasField("cache-control") { fields.append("Cache-Control", "no-store") }
        fields.append(Self.contentTypeOptions, "nosniff")
        fields.append(Self.requestID, id.description)
    }

    // Checked once instead of with every answer.
    private static let contentTypeOptions: HTTPFieldName = "X-Content-Type-Options"
    private static let requestID: HTTPFieldName = "X-Request-Id"

    static var noContent: HTTPResponse { HTTPResponse(status: .noContent) }
}
