import HTTP
import JSON
import Primitives

/// The parameters of a request that comes as a form or as JSON, each of them a text and each sent at most once.
struct ContentParameters {
    private enum Source {
        case form([(name: String, value: String)])
        case json(JSONObject)
    }

    private let source: Source

    /// - Throws: what is malformed, or names a parameter twice (RFC 6749 §3.2).
    init(_ request: APIRequest) throws(APIFailure) {
        if request.http.mediaType?.essence == MediaType.json {
            source = .json(try request.jsonObject())
            return
        }
        let fields: [(name: String, value: String)]
        do throws(FormCoding.FormError) {
            fields = try FormCoding.decode(request.http.body)
        } catch {
            throw APIFailure(.malformed, "The content is not a valid form.")
        }
        var names: Set<ExactText> = []
        for field in fields where !Self.mayBeRepeated.contains(field.name) {
            guard names.insert(ExactText(field.name)).inserted else {
                throw APIFailure(.malformed, "The form names a parameter twice.")
            }
        }
        source = .form(fields)
    }

    /// RFC 8693 §2.1: the only parameters of a token request that may come more than once. We read neither.
    private static let mayBeRepeated: Set<String> = ["resource", "audience"]

    /// `nil` when it is absent or empty. RFC 6749 §3.1: a parameter without a value counts as left out.
    ///
    /// - Throws: when the JSON member is no text.
    func text(_ name: String) throws(APIFailure) -> String? {
        let text: String?
        switch source {
        case .form(let fields): text = fields.first { areIdentical($0.name, name) }?.value
        case .json(let object):
            guard let value = object[name] else { return nil }
            guard let string = value.stringValue else { throw APIFailure(.malformed, "\(name) is not a string.") }
            text = string
        }
        return text.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// - Parameter name: one of ours; it stands in the answer.
    func required(_ name: String) throws(APIFailure) -> String {
        guard let text = try text(name) else { throw APIFailure(.malformed, "\(name) is missing.") }
        return text
    }
}
