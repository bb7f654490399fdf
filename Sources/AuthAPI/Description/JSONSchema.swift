import JSON

/// The few words of JSON Schema (2020-12, as OpenAPI 3.1 has it) that the answers need.
enum JSONSchema {
    static let text: JSONObject = ["type": "string"]
    static let textOrNull: JSONObject = ["type": ["string", "null"]]
    static let truth: JSONObject = ["type": "boolean"]
    /// Seconds: of a duration, or since 1970 where the name ends with `_at` or `_time`.
    static let seconds: JSONObject = ["type": "integer"]
    static let secondsOrNull: JSONObject = ["type": ["integer", "null"]]
    static let texts: JSONObject = ["type": "array", "items": .object(text)]
    static let uuid: JSONObject = ["type": "string", "format": "uuid"]
    static let anything: JSONObject = ["type": "object"]

    static func word(_ words: [String]) -> JSONObject {
        ["type": "string", "enum": .array(words.map(JSONValue.string))]
    }

    static func constant(_ value: JSONValue) -> JSONObject { ["const": value] }

    static func list(of element: JSONObject) -> JSONObject { ["type": "array", "items": .object(element)] }

    static func reference(_ schema: APISchema) -> JSONObject {
        ["$ref": .string("#/components/schemas/\(schema.name)")]
    }

    /// More members may come with a later version; a reader lets them be.
    static func object(_ required: [(String, JSONObject)], optional: [(String, JSONObject)] = []) -> JSONObject {
        var schema: JSONObject = ["type": "object"]
        if !required.isEmpty { schema["required"] = .array(required.map { .string($0.0) }) }
        schema["properties"] = .object(JSONObject((required + optional).map { ($0.0, .object($0.1)) }))
        return schema
    }
}
