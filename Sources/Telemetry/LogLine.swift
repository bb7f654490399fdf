import JSON
import Primitives

/// `{"time":"2026-11-30T12:00:00.000Z","level":"info","message":"request","http.status":200}`
enum LogLine {
    static func render(level: Logger.Level, message: StaticString, fields: [LogField], at time: Timestamp) -> [UInt8] {
        var object: JSONObject = [
            "time": .string(time.rfc3339), "level": .string(level.name), "message": .string(message.description),
        ]
        for field in fields {
            object[field.key.description] =
                switch field.value {
                case .text(let text): .string(Redaction.withoutTokens(text))
                case .number(let number): .integer(number)
                case .truth(let truth): .bool(truth)
                }
        }
        var line = JSONValue.object(object).encoded()
        line.append(UInt8(ascii: "\n"))
        return line
    }
}
