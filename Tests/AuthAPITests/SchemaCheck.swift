import JSON

@testable import AuthAPI

/// A check of the words of JSON Schema that `JSONSchema` makes, stricter in one thing: no member is undescribed.
extension APISchema {
    /// The paths of the members that do not fit.
    func misfits(in answer: JSONObject) -> [String] {
        SchemaCheck.misfits(.object(answer), schema, at: "")
    }
}

private enum SchemaCheck {
    static func misfits(_ value: JSONValue, _ schema: JSONObject, at path: String) -> [String] {
        if let reference = schema["$ref"]?.stringValue {
            let name = reference.split(separator: "/").last.map(String.init)
            guard let target = APISchema.allCases.first(where: { $0.name == name }) else { return [path] }
            return misfits(value, target.schema, at: path)
        }
        if let constant = schema["const"] { return value == constant ? [] : [path] }
        if let words = schema["enum"]?.arrayValue, !words.contains(value) { return [path] }
        if let choices = schema["anyOf"]?.arrayValue?.compactMap(\.objectValue) {
            return choices.contains { misfits(value, $0, at: path).isEmpty } ? [] : [path]
        }
        let types = schema["type"]?.arrayValue?.compactMap(\.stringValue) ?? [schema["type"]?.stringValue ?? ""]
        guard types.contains(type(of: value)) else { return [path] }
        switch value {
        case .array(let elements):
            guard let items = schema["items"]?.objectValue else { return [] }
            return elements.flatMap { misfits($0, items, at: path + "[]") }
        case .object(let object): return members(of: object, schema, at: path)
        default: return []
        }
    }

    private static func members(of object: JSONObject, _ schema: JSONObject, at path: String) -> [String] {
        func below(_ name: String) -> String { path.isEmpty ? name : path + "." + name }
        let required = schema["required"]?.arrayValue?.compactMap(\.stringValue) ?? []
        var found = required.filter { object[$0] == nil }.map(below)
        let properties = schema["properties"]?.objectValue
        let others = schema["additionalProperties"]?.objectValue
        if properties == nil, others == nil { return found }
        for (name, value) in object.members {
            if let described = properties?[name]?.objectValue ?? others {
                found += misfits(value, described, at: below(name))
            } else {
                found.append(below(name))
            }
        }
        return found
    }

    private static func type(of value: JSONValue) -> String {
        switch value {
        case .null: "null"
        case .bool: "boolean"
        case .integer: "integer"
        case .number: "number"
        case .string: "string"
        case .array: "array"
        case .object: "object"
        }
    }
}

extension JSONObject {
    /// Indented by two blanks, members in their order: for the eyes of whoever reads a difference.
    func indented(_ depth: Int = 0) -> String {
        if isEmpty { return "{}" }
        let margin = String(repeating: "  ", count: depth + 1)
        let lines = members.map { name, value in
            margin + String(decoding: JSONValue.string(name).encoded(), as: UTF8.self) + ": "
                + value.indented(depth + 1)
        }
        return "{\n" + lines.joined(separator: ",\n") + "\n" + margin.dropLast(2) + "}"
    }
}

extension JSONValue {
    fileprivate func indented(_ depth: Int) -> String {
        switch self {
        case .object(let object): return object.indented(depth)
        case .array(let elements) where elements.contains { $0.objectValue != nil }:
            let margin = String(repeating: "  ", count: depth + 1)
            return "[\n" + elements.map { margin + $0.indented(depth + 1) }.joined(separator: ",\n") + "\n"
                + margin.dropLast(2) + "]"
        default: return String(decoding: encoded(), as: UTF8.self)
        }
    }
}
