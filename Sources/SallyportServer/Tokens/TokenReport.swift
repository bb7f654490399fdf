import JOSE
import JSON
import Primitives

/// What `token inspect` says of a token: never the token itself, nor its signature.
struct TokenReport {
    let lines: [String]

    init(_ token: TokenText, at now: Timestamp) {
        let kind = TokenExpectation.Kind(token.jws.type)
        lines =
            ["kind: \(kind.name)", "header:"] + Self.members(token.jws.header, at: now)
            + ["claims:"] + Self.members(token.claims, at: now)
    }

    private static let instants: Set<String> = ["exp", "iat", "nbf", "auth_time"]

    private static func members(_ object: JSONObject, at now: Timestamp) -> [String] {
        object.members.map { name, value in
            var line = "  \(shown(name)): \(shown(String(decoding: value.encoded(), as: UTF8.self)))"
            if instants.contains(name), let seconds = value.integerValue, (0...253_402_300_799).contains(seconds) {
                let instant = Timestamp(secondsSinceEpoch: seconds)
                let isPast = instant <= now
                let span = TokenExpectation.span(isPast ? now - instant : instant - now)
                line += "  (\(instant.rfc3339), \(isPast ? span + " ago" : "in " + span))"
            }
            return line
        }
    }
}
