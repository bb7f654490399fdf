import HTTP
import JSON
import Primitives

/// A public JSON document that is the same for the life of the process: rendered once, kept by caches for some minutes.
struct CachedDocument: Sendable {
    private let tag: EntityTag
    private let whole: PreparedResponse
    private let notModified: PreparedResponse

    init(_ document: JSONObject) {
        let content = document.encoded()
        tag = EntityTag(of: content)
        let caching: HTTPFields = [
            "ETag": tag.text, "Cache-Control": "public, max-age=\(Limits.documentAge.wholeSeconds)",
            "Access-Control-Allow-Origin": "*",
        ]
        var fields: HTTPFields = ["Content-Type": MediaType.json]
        fields.append(contentsOf: caching)
        whole = PreparedResponse(status: .ok, fields: fields, content: content)
        notModified = PreparedResponse(status: .notModified, fields: caching, content: [])
    }

    func response(to request: APIRequest) -> HTTPResponse {
        guard let condition = request.http.fields["if-none-match"], tag.matches(ifNoneMatch: condition) else {
            return HTTPResponse(whole)
        }
        return HTTPResponse(notModified)
    }
}
