import JSON

/// A history as a file: one JSON object a line, told apart by `event`.
///
///     {"event":"operation","kind":"refresh","actor":"owner","family":"…","server":1,"start":1.25,"end":1.26,
///      "presented":7,"key":"9a0b…","status":200,"generation":8,"token":"5f…","verified":true}
///     {"event":"fault","name":"pg-crash","start":27.0,"end":28.6,"excuses":1}
///     {"event":"row","family":"…","generation":41,"end_reason":"refresh_reused","restorations":0}
extension History {
    package enum LineError: Error, Equatable {
        case unreadable(line: Int)
    }

    package var lines: String {
        let all = operations.map(\.object) + faults.map(\.object) + rows.map(\.object)
        return all.map { String(decoding: $0.encoded(), as: UTF8.self) + "\n" }.joined()
    }

    /// - Throws: `LineError` with the number of the first line that is no part of a history.
    package init(lines: String) throws {
        self.init()
        for (index, line) in lines.split(separator: "\n").enumerated() {
            guard let object = (try? JSONParser.parse(Array(line.utf8)))?.objectValue, add(object) else {
                throw LineError.unreadable(line: index + 1)
            }
        }
    }

    private mutating func add(_ object: JSONObject) -> Bool {
        switch object["event"]?.stringValue {
        case "operation": Operation(object).map { operations.append($0) } != nil
        case "fault": FaultWindow(object).map { faults.append($0) } != nil
        case "row": SessionRow(object).map { rows.append($0) } != nil
        default: false
        }
    }
}

private func number(_ value: Double) -> JSONValue { JSONNumber(value).map { .number($0) } ?? .null }

/// Members without a value are left out.
private func line(_ event: String, _ members: [(String, JSONValue?)]) -> JSONObject {
    JSONObject([("event", .string(event))] + members.compactMap { name, value in value.map { (name, $0) } })
}

extension Operation {
    fileprivate var object: JSONObject {
        line(
            "operation",
            [
                ("kind", .string(kind.rawValue)), ("actor", .string(actor.rawValue)), ("family", .string(family)),
                ("server", .integer(Int64(server))), ("start", number(start)), ("end", number(end)),
                ("presented", presentedGeneration.map { .integer($0) }), ("key", keyHash.map { .string($0) }),
                ("status", status.map { .integer(Int64($0)) }), ("reason", reason.map { .string($0) }),
                ("action", action.map { .string($0) }), ("retry_after", retryAfter.map { .integer($0) }),
                ("generation", generation.map { .integer($0) }), ("token", tokenHash.map { .string($0) }),
                ("verified", isVerified.map { .bool($0) }),
            ])
    }

    fileprivate init?(_ object: JSONObject) {
        guard let kind = object["kind"]?.stringValue.flatMap(Kind.init),
            let actor = object["actor"]?.stringValue.flatMap(Actor.init),
            let family = object["family"]?.stringValue, let server = object["server"]?.integerValue,
            let start = object["start"]?.doubleValue, let end = object["end"]?.doubleValue
        else { return nil }
        self.init(
            kind, actor, family: family, server: Int(server), presentedGeneration: object["presented"]?.integerValue,
            start: start, end: end)
        keyHash = object["key"]?.stringValue
        status = object["status"]?.integerValue.map { Int($0) }
        reason = object["reason"]?.stringValue
        action = object["action"]?.stringValue
        retryAfter = object["retry_after"]?.integerValue
        generation = object["generation"]?.integerValue
        tokenHash = object["token"]?.stringValue
        isVerified = object["verified"]?.boolValue
    }
}

extension FaultWindow {
    fileprivate var object: JSONObject {
        line(
            "fault",
            [
                ("name", .string(name)), ("start", number(start)), ("end", number(end)),
                ("excuses", .integer(excuses.rawValue)),
            ])
    }

    fileprivate init?(_ object: JSONObject) {
        guard let name = object["name"]?.stringValue, let start = object["start"]?.doubleValue,
            let end = object["end"]?.doubleValue, let excuses = object["excuses"]?.integerValue
        else { return nil }
        self.init(name, start: start, end: end, excuses: Excuses(rawValue: excuses))
    }
}

extension SessionRow {
    fileprivate var object: JSONObject {
        line(
            "row",
            [
                ("family", .string(family)), ("generation", .integer(generation)),
                ("end_reason", endReason.map { .string($0) }), ("restorations", .integer(restorations)),
            ])
    }

    fileprivate init?(_ object: JSONObject) {
        guard let family = object["family"]?.stringValue, let generation = object["generation"]?.integerValue,
            let restorations = object["restorations"]?.integerValue
        else { return nil }
        self.init(
            family: family, generation: generation, endReason: object["end_reason"]?.stringValue,
            restorations: restorations)
    }
}
