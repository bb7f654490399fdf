import HTTP
import Primitives
import Telemetry

/// `GET /openapi.json`: the table of routes, described, itself among them. Rendered when it is first asked for.
struct ShowAPIDescription: Sendable {
    private let others: [Route]
    private let version: ServerVersion
    private let issuer: String
    private let rendered = Locked<CachedDocument?>(nil)

    /// - Parameter others: the routes that are described beside this one.
    init(others: [Route], version: ServerVersion, issuer: String) {
        self.others = others
        self.version = version
        self.issuer = issuer
    }

    var route: Route {
        Route(
            "showAPIDescription", .get, "/openapi.json", "This description (OpenAPI 3.1).",
            inputs: [RouteInput("If-None-Match", .header)], answers: [.ok(.apiDescription), .notModified],
            level: .debug,
            handler: .open { request async throws(APIFailure) in document.response(to: request) })
    }

    private var document: CachedDocument {
        rendered.withLock { rendered in
            if let rendered { return rendered }
            let document = CachedDocument(
                OpenAPIDocument(routes: others + [route], version: version, issuer: issuer).json)
            rendered = document
            return document
        }
    }
}
