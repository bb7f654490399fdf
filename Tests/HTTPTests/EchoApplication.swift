import Foundation
import HTTP

/// The application that the cases are written for: `/echo` answers what it saw, `/static` a fixed text.
struct EchoApplication: HTTPApplication {
    private enum Route {
        case echo
        case fixed
    }

    private static let matcher = RouteMatcher<Route>([
        (.get, "/echo", .echo), (.post, "/echo", .echo), (.options, "/echo", .echo), (.get, "/static", .fixed),
    ])

    func respond(to request: HTTPRequest) async -> HTTPResponse {
        Self.answer(to: request)
    }

    func refuse(_ refusal: HTTPRefusal) -> HTTPResponse {
        HTTPResponse(
            status: refusal.status, fields: ["Content-Type": "application/json"], body: .bytes(Array("[\"no\"]".utf8)))
    }

    static func answer(to request: HTTPRequest) -> HTTPResponse {
        if request.target.form == .asterisk { return HTTPResponse(status: .noContent) }
        switch matcher.match(request.method, request.target) {
        case .found(.echo, _):
            return HTTPResponse(
                status: .ok, fields: ["Content-Type": "application/json"], body: .bytes(echo(of: request)))
        case .found(.fixed, _):
            return HTTPResponse(
                status: .ok, fields: ["Content-Type": "text/plain"], body: .bytes(Array("static".utf8)))
        case .methodNotAllowed(let allowed):
            let names = allowed.map(\.name).joined(separator: ", ")
            return HTTPResponse(status: .methodNotAllowed, fields: ["Allow": names])
        case .notFound:
            return HTTPResponse(status: .notFound)
        }
    }

    /// The fields' values and the body as code points 0 to 255.
    private static func echo(of request: HTTPRequest) -> [UInt8] {
        var headers: [String: String] = [:]
        for (name, _) in request.fields {
            let values = request.fields.valueBytes(of: name).map { latin1($0) }
            headers[name.lowercased()] = values.joined(separator: ", ")
        }
        let seen: [String: Any] = [
            "method": request.method.name, "path": request.target.path, "query": request.target.query ?? "",
            "headers": headers, "body": latin1(request.body),
        ]
        return (try? JSONSerialization.data(withJSONObject: seen)).map(Array.init) ?? []
    }
}
