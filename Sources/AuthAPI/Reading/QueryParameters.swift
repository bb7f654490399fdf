import AuthDomain
import HTTP
import JSON
import Primitives

/// The query of a request, each name sent at most once.
struct QueryParameters {
    private let fields: [(name: String, value: String)]

    init(_ request: APIRequest) throws(APIFailure) {
        let fields: [(name: String, value: String)]
        do throws(FormCoding.FormError) {
            fields = try request.http.queryFields()
        } catch {
            throw APIFailure(.malformed, "The query is malformed.")
        }
        guard Set(fields.map { ExactText($0.name) }).count == fields.count else {
            throw APIFailure(.malformed, "The query names a parameter twice.")
        }
        self.fields = fields
    }

    /// `nil` when it is absent.
    func text(_ name: String) -> String? { fields.first { areIdentical($0.name, name) }?.value }
}

extension ScopeSet {
    /// The parameter `scope`, where it was sent. RFC 6749 §3.1: one without a value counts as left out.
    static func requested(_ text: String?) throws(APIFailure) -> ScopeSet? {
        guard let text, !text.isEmpty else { return nil }
        guard let scopes = ScopeSet(parsing: text) else { throw APIFailure(.scopeInvalid) }
        return scopes
    }
}
