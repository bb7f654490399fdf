import JOSE
import JSON
import Primitives

/// A token as people paste it, taken apart. Nothing is proved, and no text of it but header and claims is kept to show.
struct TokenText {
    let jws: UnverifiedJWS
    let claims: JSONObject

    /// - Throws: what it is instead, in a sentence that does not repeat it.
    init(_ pasted: String) throws(Fault) {
        let text = String(Self.stripped(pasted))
        guard !text.isEmpty else { throw Fault("There is no token: give it as an argument or on stdin.") }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
            throw Fault(
                "There are blanks, line breaks or other characters in it that no token has: it was cut or wrapped.")
        }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        try Self.check(parts)
        let header = try Self.object(parts[0], "header")
        let claims = try Self.object(parts[1], "payload")
        try Self.check(header)
        guard Base64URL.decode(parts[2]) != nil else {
            throw Fault("Its third part, the signature, is not base64url: it was cut or changed on the way.")
        }
        do throws(JOSEError) {
            jws = try UnverifiedJWS(text)
        } catch {
            throw Fault("It is not a JSON Web Token that may be used: too long, or its header is malformed.")
        }
        self.claims = claims
    }

    struct Fault: Error, Equatable {
        let sentence: String

        init(_ sentence: String) { self.sentence = sentence }
    }

    /// A copied header field or a value in quotes is the token too.
    private static func stripped(_ pasted: String) -> Substring {
        func trimmed(_ text: Substring) -> Substring {
            let rest = text.drop { $0.isWhitespace || $0 == "\"" || $0 == "'" }
            guard let last = rest.lastIndex(where: { !$0.isWhitespace && $0 != "\"" && $0 != "'" }) else { return "" }
            return rest[...last]
        }
        var text = trimmed(pasted[...])
        for prefix in ["authorization:", "bearer ", "token "] where text.lowercased().hasPrefix(prefix) {
            text = trimmed(text.dropFirst(prefix.count))
        }
        return text
    }

    private static func check(_ parts: [Substring]) throws(Fault) {
        switch parts.count {
        case 3: break
        case 2:
            throw Fault(
                "It has two parts: a signed session token of Better Auth, which is exchanged for a token and is none.")
        case 5: throw Fault("It has five parts: an encrypted token (JWE), which this server neither makes nor reads.")
        default:
            throw Fault("It has \(parts.count) parts between dots and not three: it is no signed token, or was cut.")
        }
        if parts[2].isEmpty { throw Fault("Its signature is empty: anybody can have made it.") }
    }

    private static func object(_ part: Substring, _ name: String) throws(Fault) -> JSONObject {
        guard let bytes = Base64URL.decode(part) else {
            let isStandard = part.contains { "+/=".contains($0) }
            throw Fault(
                "Its \(name) is not base64url"
                    + (isStandard
                        ? ": it is written in standard base64, or padded." : ": it was cut or changed on the way."))
        }
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONParser.parse(bytes, limits: JSONLimits(bytesMax: 65_536, depthMax: 32))
        } catch {
            switch error {
            case .duplicateMember: throw Fault("Its \(name) names a member twice: two readers could see two tokens.")
            case .tooDeep, .tooLarge: throw Fault("Its \(name) is larger or deeper than any token's.")
            case .malformed: throw Fault("Its \(name) is not JSON: it was cut or changed on the way.")
            }
        }
        guard let object = value.objectValue else { throw Fault("Its \(name) is not a JSON object.") }
        return object
    }

    private static func check(_ header: JSONObject) throws(Fault) {
        guard let algorithm = header["alg"]?.stringValue else { throw Fault("Its header names no algorithm.") }
        if algorithm.lowercased() == "none" {
            throw Fault("It says that it is not signed (alg none): anybody can have made it.")
        }
        guard header["kid"] != nil else {
            throw Fault("Its header names no key (kid): no verifier can tell which of several keys signed it.")
        }
        for name in ["crit", "b64", "zip"] where header[name] != nil {
            throw Fault("Its header has \(name), an extension that this server refuses.")
        }
    }
}
