import HTTP
import JSON
import Testing

/// An answer, with what every answer has to have checked on the way.
struct Reply {
    let response: HTTPResponse

    init(_ response: HTTPResponse, at location: SourceLocation = #_sourceLocation) {
        self.response = response
        #expect(response.field("x-content-type-options") == "nosniff", sourceLocation: location)
        #expect(response.field("x-request-id")?.isEmpty == false, sourceLocation: location)
        #expect(response.field("cache-control") != nil, sourceLocation: location)
    }

    var status: Int { response.status.code }
    var text: String { String(decoding: response.content, as: UTF8.self) }

    func field(_ name: String) -> String? { response.field(name) }

    func json() throws -> JSONObject {
        #expect(field("content-type") == "application/json")
        return try #require(try JSONParser.parse(response.content).objectValue)
    }

    func ok(at location: SourceLocation = #_sourceLocation) throws -> JSONObject {
        try #require(response.status == .ok, "\(text)", sourceLocation: location)
        return try json()
    }

    /// The one shape, with these values.
    @discardableResult
    func isRefusal(
        _ status: Int, _ error: String, _ reason: String, _ action: String,
        at location: SourceLocation = #_sourceLocation
    ) throws -> JSONObject {
        let body = try json()
        #expect(self.status == status, "\(text)", sourceLocation: location)
        #expect(try body.text("error") == error, sourceLocation: location)
        #expect(try body.text("error_reason") == reason, sourceLocation: location)
        #expect(try body.text("client_action") == action, sourceLocation: location)
        #expect(try !body.text("error_description").isEmpty, sourceLocation: location)
        #expect(try body.number("server_time") > 0, sourceLocation: location)
        #expect(try body.text("request_id") == field("x-request-id"), sourceLocation: location)
        #expect(field("cache-control") == "no-store", sourceLocation: location)
        #expect((field("www-authenticate") != nil) == (status == 401), sourceLocation: location)
        if status == 503 || status == 429 {
            let seconds = try body.number("retry_after")
            #expect((1...30).contains(seconds), sourceLocation: location)
            #expect(field("retry-after") == String(seconds), sourceLocation: location)
        } else {
            #expect(field("retry-after") == nil && body["retry_after"] == nil, sourceLocation: location)
        }
        return body
    }

    /// A bad request that asks nothing of the client.
    @discardableResult
    func isBad(
        _ reason: String = "request_malformed", _ error: String = "invalid_request",
        at location: SourceLocation = #_sourceLocation
    ) throws -> JSONObject {
        try isRefusal(400, error, reason, "none", at: location)
    }
}

extension JSONObject {
    func text(_ name: String) throws -> String { try #require(self[name]?.stringValue, "no text \(name)") }
    func number(_ name: String) throws -> Int64 { try #require(self[name]?.integerValue, "no integer \(name)") }
    func object(_ name: String) throws -> JSONObject { try #require(self[name]?.objectValue, "no object \(name)") }

    func bool(_ name: String) throws -> Bool {
        guard let value = self[name]?.boolValue else { throw NoTruth() }
        return value
    }

    struct NoTruth: Error {}
}
