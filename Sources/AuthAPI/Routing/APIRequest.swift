import HTTP
import JSON
import Primitives
import Telemetry

/// A request as an endpoint gets it: its route is known, its content type has been checked.
struct APIRequest: Sendable {
    let http: HTTPRequest
    let parameters: RouteParameters
    let id: RequestID

    /// A part of the path. Empty where the pattern has no such name, which finds nothing.
    func parameter(_ name: String) -> String { parameters[name] ?? "" }

    /// The content as one JSON object.
    func jsonObject() throws(APIFailure) -> JSONObject {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONParser.parse(http.body, limits: Limits.requestJSON)
        } catch {
            switch error {
            case .duplicateMember: throw APIFailure(.malformed, "The JSON names a member twice.")
            case .malformed, .tooDeep, .tooLarge: throw APIFailure(.malformed, "The content is not valid JSON.")
            }
        }
        guard let object = value.objectValue else { throw APIFailure(.malformed, "The content is not a JSON object.") }
        return object
    }

    /// A truth value among the members of the content; false where there is no content, no such member, or `null`.
    func flag(_ name: String) throws(APIFailure) -> Bool {
        guard !http.body.isEmpty, let value = try jsonObject()[name], value != .null else { return false }
        guard let flag = value.boolValue else {
            throw APIFailure(.malformed, "\(name) is neither true nor false.")
        }
        return flag
    }

    /// The one value of a field, `nil` when it is absent.
    ///
    /// - Throws: when it was sent more than once, or is no UTF-8.
    func field(_ name: String) throws(APIFailure) -> String? {
        let values = http.fields.valueBytes(of: name)
        guard let value = values.first else { return nil }
        guard values.count == 1 else { throw APIFailure(.malformed, "A header field was sent more than once.") }
        guard let text = String(validating: value, as: UTF8.self) else {
            throw APIFailure(.malformed, "A header field is not UTF-8.")
        }
        return text
    }
}
