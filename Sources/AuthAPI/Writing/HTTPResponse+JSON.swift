import HTTP
import JSON

extension HTTPResponse {
    static func json(_ body: JSONObject, status: HTTPStatus = .ok, fields: HTTPFields = [:]) -> HTTPResponse {
        var all: HTTPFields = ["Content-Type": MediaType.json]
        all.append(contentsOf: fields)
        return HTTPResponse(status: status, fields: all, body: .bytes(body.encoded()))
    }

    static var noContent: HTTPResponse { HTTPResponse(status: .noContent) }
}
