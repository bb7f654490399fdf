import HTTP
import JSON

/// Answers what it saw: `/echo` as JSON with bytes as code points 0 to 255, `/static` with a fixed text.
struct EchoApplication: HTTPApplication {
    private enum Route: Sendable {
        case echo
        case fixed
    }

    private static let matcher = RouteMatcher<Route>([
        (.get, "/echo", .echo), (.post, "/echo", .echo), (.options, "/echo", .echo), (.get, "/static", .fixed),
    ])
    private static let fixed = PreparedResponse(
        status: .ok, fields: ["Content-Type": "text/plain"], content: Array("static".utf8))

    func respond(to request: HTTPRequest) async -> HTTPResponse {
        if request.target.form == .asterisk { return HTTPResponse(status: .noContent) }
        switch Self.matcher.match(request.method, request.target) {
        case .found(.echo, _):
            return HTTPResponse(
                status: .ok, fields: ["Content-Type": "application/json"], body: .bytes(Self.echo(of: request)))
        case .found(.fixed, _):
            return HTTPResponse(Self.fixed)
        case .methodNotAllowed(let allowed):
            let names = allowed.map(\.name).joined(separator: ", ")
            return HTTPResponse(status: .methodNotAllowed, fields: ["Allow": names])
        case .notFound:
            return HTTPResponse(status: .notFound)
        }
    }

    func refuse(_ refusal: HTTPRefusal) -> HTTPResponse {
        HTTPResponse(
            status: refusal.status, fields: ["Content-Type": "text/plain"],
            body: .bytes(Array("refused".utf8)))
    }

    private static func echo(of request: HTTPRequest) -> [UInt8] {
        var headers: [(String, JSONValue)] = []
        for (name, _) in request.fields {
            let name = name.lowercased()
            if headers.contains(where: { $0.0 == name }) { continue }
            let values = request.fields.valueBytes(of: name).map { latin1($0) }
            headers.append((name, .string(values.joined(separator: ", "))))
        }
        let seen: JSONObject = [
            "method": .string(request.method.name), "path": .string(request.target.path),
            "query": .string(request.target.query ?? ""), "headers": .object(JSONObject(headers)),
            "body": .string(latin1(request.body)),
        ]
        return seen.encoded()
    }

    /// One code point for each byte.
    private static func latin1(_ bytes: some Collection<UInt8>) -> String {
        var scalars = String.UnicodeScalarView()
        for byte in bytes { scalars.append(Unicode.Scalar(byte)) }
        return String(scalars)
    }
}
