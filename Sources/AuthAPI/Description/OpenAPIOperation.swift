import AuthDomain
import HTTP
import JSON

/// One route as an operation. Source: OpenAPI 3.1.0 §4.8.10.
struct OpenAPIOperation {
    let route: Route

    var json: JSONObject {
        var operation: JSONObject = [
            "operationId": .string(route.operation), "summary": .string(route.summary), "security": security,
        ]
        let parameters = route.inputs.filter { $0.place != .content }
        if !parameters.isEmpty { operation["parameters"] = .array(parameters.map { .object(parameter($0)) }) }
        if !route.accepts.isEmpty { operation["requestBody"] = .object(requestBody) }
        operation["responses"] = .object(responses)
        return operation
    }

    private var security: JSONValue {
        switch route.access {
        case .public: []
        case .sessionToken, .accessToken, .resourceServer: [[route.access.rawValue: []]]
        }
    }

    private func parameter(_ input: RouteInput) -> JSONObject {
        var parameter: JSONObject = ["name": .string(input.name), "in": .string(input.place.rawValue)]
        if input.isRequired { parameter["required"] = true }
        if !input.about.isEmpty { parameter["description"] = .string(input.about) }
        parameter["schema"] = .object(input.schema)
        return parameter
    }

    private var requestBody: JSONObject {
        let members = route.inputs.filter { $0.place == .content }
        let schema = JSONSchema.object(
            members.filter(\.isRequired).map { ($0.name, $0.describedSchema) },
            optional: members.filter { !$0.isRequired }.map { ($0.name, $0.describedSchema) })
        let content = route.accepts.map { ($0, JSONValue.object(["schema": .object(schema)])) }
        var body: JSONObject = ["content": .object(JSONObject(content))]
        if members.contains(where: \.isRequired) { body["required"] = true }
        return body
    }

    /// In the order of the statuses: what it answers, and every refusal below its status.
    private var responses: JSONObject {
        var responses: [(status: Int, json: JSONObject)] = route.answers.map { ($0.status.code, answer($0)) }
        let common = Self.byStatus(Self.everywhere, to: route.credentialPlace)
        let errors = route.allErrors + Self.everywhere.filter { !route.allErrors.contains($0) }
        for (status, codes) in Self.byStatus(errors, to: route.credentialPlace) {
            let isCommon = Set(codes) == Set(common[status] ?? [])
            let shared: JSONObject = ["$ref": .string("#/components/responses/\(status)")]
            responses.append((status, isCommon ? shared : Self.refusal(codes, to: route.credentialPlace)))
        }
        responses.sort { $0.status < $1.status }
        return JSONObject(responses.map { (String($0.status), .object($0.json)) })
    }

    /// `components.responses`: the refusals that any route may give, by status.
    static var commonResponses: JSONObject {
        let common = byStatus(everywhere, to: .content).sorted { $0.key < $1.key }
        return JSONObject(common.map { (String($0.key), .object(refusal($0.value, to: .content))) })
    }

    private static func byStatus(_ codes: [APIErrorCode], to place: CredentialPlace) -> [Int: [APIErrorCode]] {
        Dictionary(grouping: codes) { $0.row.answered(to: place).status.code }
    }

    /// What the connection, the start and the drain may answer to any request.
    private static let everywhere: [APIErrorCode] =
        [
            .malformed, .contentTooLarge, .targetTooLong, .fieldsTooLarge, .expectationUnknown, .notImplemented,
            .versionUnsupported, .rateLimited,
        ].map(APIErrorCode.rejected) + [.busy, .starting, .stopping].map(APIErrorCode.unavailable)

    private func answer(_ answer: RouteAnswer) -> JSONObject {
        var response: JSONObject = ["description": .string(answer.sentence)]
        switch answer.content {
        case .none: break
        case .json(let schema):
            let content: JSONObject = [
                "schema": .object(JSONSchema.reference(schema)), "example": .object(schema.example),
            ]
            response["content"] = [MediaType.json: .object(content)]
        case .text(let mediaType, let example):
            let content: JSONObject = ["schema": .object(JSONSchema.text), "example": .string(example)]
            response["content"] = .object(JSONObject([(mediaType, .object(content))]))
        }
        return response
    }

    private static func refusal(_ codes: [APIErrorCode], to place: CredentialPlace) -> JSONObject {
        var names: [String] = []
        for name in codes.map({ ErrorExamples.name($0, to: place) }) where !names.contains(name) {
            names.append(name)
        }
        var headers = JSONObject()
        for name in ["Retry-After", "WWW-Authenticate", "Allow"] {
            let isThere = codes.contains {
                ErrorExamples.response($0, to: place).fields.contains(name.lowercased())
            }
            if isThere { headers[name] = ["schema": .object(JSONSchema.text)] }
        }
        var response: JSONObject = ["description": .string(names.joined(separator: ", "))]
        if !headers.isEmpty { response["headers"] = .object(headers) }
        let examples = names.map { ($0, JSONValue.object(["$ref": .string("#/components/examples/\($0)")])) }
        let content: JSONObject = [
            "schema": .object(JSONSchema.reference(.refusal)), "examples": .object(JSONObject(examples)),
        ]
        response["content"] = [MediaType.json: .object(content)]
        return response
    }
}

extension RouteInput {
    var schema: JSONObject {
        if !values.isEmpty { return JSONSchema.word(values) }
        switch kind {
        case .string: return JSONSchema.text
        case .boolean: return JSONSchema.truth
        case .integer: return JSONSchema.seconds
        }
    }

    fileprivate var describedSchema: JSONObject {
        var schema = schema
        if !about.isEmpty { schema["description"] = .string(about) }
        return schema
    }
}
