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
