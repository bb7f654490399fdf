package import HTTP
import JSON

/// What an endpoint answers when it does not refuse, for whoever describes the API.
package struct RouteAnswer: Sendable {
    enum Content: Sendable {
        case none
        case json(APISchema)
        case text(mediaType: String, example: String)
    }

    package let status: HTTPStatus
    let sentence: String
    let content: Content

    private init(_ status: HTTPStatus, _ sentence: String, _ content: Content) {
        self.status = status
        self.sentence = sentence
        self.content = content
    }

    static func ok(_ schema: APISchema) -> RouteAnswer { RouteAnswer(.ok, schema.sentence, .json(schema)) }

    static func text(_ sentence: String, mediaType: String, example: String) -> RouteAnswer {
        RouteAnswer(.ok, sentence, .text(mediaType: mediaType, example: example))
    }

    /// 200 with nothing in it, where a standard has it so.
    static let empty = RouteAnswer(.ok, "It is done, or there was nothing to do.", .none)
    static let noContent = RouteAnswer(.noContent, "It is done.", .none)
    static let notModified = RouteAnswer(.notModified, "The content with this ETag is still the newest.", .none)
}
