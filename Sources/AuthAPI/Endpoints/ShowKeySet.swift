import AuthDomain
import HTTP
import JOSE
import Primitives
import Telemetry

/// `GET /.well-known/jwks.json`: the keys that access tokens are checked by. Contract section 2.5.
///
/// Rendered once per change of the published keys. It needs no database: the keys are in memory or they are not.
struct ShowKeySet: Sendable {
    static let path = "/.well-known/jwks.json"

    let keys: any KeyringSource
    private let rendered = Locked<Rendered?>(nil)

    init(keys: any KeyringSource) {
        self.keys = keys
    }

    private struct Rendered: Sendable {
        /// A `kid` is made from its key: the same names in the same order are the same keys.
        let kids: [String]
        let tag: EntityTag
        let whole: PreparedResponse
        let notModified: PreparedResponse
    }

    var route: Route {
        Route(
            "showKeySet", .get, RoutePattern(stringLiteral: Self.path), "The public keys of access tokens (JWKS).",
            inputs: [RouteInput("If-None-Match", .header)], answers: [.ok(.keySet), .notModified],
            errors: [.unavailable(.starting)], level: .debug,
            handler: .open(handle))
    }

    private func handle(_ request: APIRequest) async throws(APIFailure) -> HTTPResponse {
        try answer(request.http)
    }

    func answer(_ request: HTTPRequest) throws(APIFailure) -> HTTPResponse {
        // Before the first key: an empty set would be cached, and every token refused for that long.
        guard let published = keys.published else { throw APIFailure(.unavailable(.starting)) }
        let current = current(published)
        guard let condition = request.fields["if-none-match"], current.tag.matches(ifNoneMatch: condition) else {
            return HTTPResponse(current.whole)
        }
        return HTTPResponse(current.notModified)
    }

    private func current(_ published: [JWK]) -> Rendered {
        rendered.withLock { rendered in
            if let rendered, rendered.kids.elementsEqual(published.lazy.map(\.kid)) { return rendered }
            let new = Self.render(published)
            rendered = new
            return new
        }
    }

    private static func render(_ published: [JWK]) -> Rendered {
        let content = JWKSet.render(published)
        let tag = EntityTag(of: content)
        let caching: HTTPFields = [
            "ETag": tag.text,
            "Cache-Control": "public, max-age=\(Limits.keySetAge.wholeSeconds), "
                + "stale-while-revalidate=\(Limits.keySetStale.wholeSeconds), "
                + "stale-if-error=\(Limits.keySetStaleOnError.wholeSeconds)",
            "Access-Control-Allow-Origin": "*",
        ]
        var fields: HTTPFields = ["Content-Type": MediaType.json]
        fields.append(contentsOf: caching)
        return Rendered(
            kids: published.map(\.kid), tag: tag,
            whole: PreparedResponse(status: .ok, fields: fields, content: content),
            notModified: PreparedResponse(status: .notModified, fields: caching, content: []))
    }
}
