import AuthDomain
import Postgres
import Primitives
import Reactor
import Telemetry

/// Readers of the kinds of value that settings have.
enum SettingValue {
    /// `90s`, `30m`, `12h`, `30d`: a whole number and a unit.
    static func duration(
        _ range: ClosedRange<Duration>
    ) -> @Sendable (String) throws(SettingFault) -> Duration {
        { (text: String) throws(SettingFault) in try duration(text, range) }
    }

    private static func duration(_ text: String, _ range: ClosedRange<Duration>) throws(SettingFault) -> Duration {
        let expected =
            "a duration between \(written(range.lowerBound)) and \(written(range.upperBound)), such as 90s, "
            + "30m, 12h or 30d"
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
        guard let unit = text.last.flatMap({ units[$0] }), text.dropLast().allSatisfy(\.isNumber),
            let count = Int64(text.dropLast()), count <= 1_000_000
        else { throw SettingFault(expected) }
        let duration = Duration.seconds(count * unit)
        guard range.contains(duration) else { throw SettingFault(expected) }
        return duration
    }

    static func written(_ duration: Duration) -> String {
        let seconds = duration.wholeSeconds
        for (unit, size) in [("d", Int64(86_400)), ("h", 3_600), ("m", 60)] where seconds > 0 && seconds % size == 0 {
            return "\(seconds / size)\(unit)"
        }
        return "\(seconds)s"
    }

    static func word<Word: RawRepresentable & CaseIterable>(
        _ text: String
    ) throws(SettingFault) -> Word where Word.RawValue == String {
        guard let word = Word(rawValue: text) else {
            throw SettingFault("one of " + Word.allCases.map(\.rawValue).joined(separator: ", "))
        }
        return word
    }

    static func truth(_ text: String) throws(SettingFault) -> Bool {
        switch text {
        case "true": true
        case "false": false
        default: throw SettingFault("true or false")
        }
    }

    static func number(_ range: ClosedRange<Int>) -> @Sendable (String) throws(SettingFault) -> Int {
        { (text: String) throws(SettingFault) in
            guard let number = Int(text), range.contains(number) else {
                throw SettingFault("a whole number between \(range.lowerBound) and \(range.upperBound)")
            }
            return number
        }
    }

    static func keyBits(_ text: String) throws(SettingFault) -> Int {
        guard let bits = Int(text), [2_048, 3_072, 4_096].contains(bits) else {
            throw SettingFault("2048, 3072 or 4096")
        }
        return bits
    }

    static func logLevel(_ text: String) throws(SettingFault) -> Logger.Level {
        guard let level = Logger.Level.allCases.first(where: { $0.name == text }) else {
            throw SettingFault("one of debug, info, warning, error")
        }
        return level
    }

    /// Separated by commas, blanks around them ignored, none empty.
    static func list(_ text: String) throws(SettingFault) -> [String] {
        let items = text.split(separator: ",", omittingEmptySubsequences: false).map { item in
            String(item.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
        }
        guard items.allSatisfy({ !$0.isEmpty }) else { throw SettingFault("a list separated by commas") }
        return items
    }

    static func audiences(_ text: String) throws(SettingFault) -> [String]? {
        let audiences = try list(text)
        // A list separated by blanks would be one audience, which no verifier has.
        guard audiences.allSatisfy({ !$0.contains(where: \.isWhitespace) }) else {
            throw SettingFault("audiences without blanks, separated by commas")
        }
        return audiences
    }

    static func issuer(_ text: String) throws(SettingFault) -> Issuer? { try Issuer(text) }

    static func scopes(_ text: String) throws(SettingFault) -> ScopeSet {
        // RFC 6749 §3.3 allows a comma in a name; here it is a list that was separated in the wrong way.
        guard let scopes = ScopeSet(parsing: text), !text.contains(",") else {
            throw SettingFault("scope names separated by blanks, without commas")
        }
        return scopes
    }

    static func gatedScopes(_ text: String) throws(SettingFault) -> ScopeSet? { try scopes(text) }

    static func databaseURL(_ text: String) throws(SettingFault) -> DatabaseURL? {
        guard text.hasPrefix("postgresql://") || text.hasPrefix("postgres://") else {
            throw SettingFault("a URI that begins with postgresql://")
        }
        return DatabaseURL(Secret(text))
    }

    static func databaseConnections(_ text: String) throws(SettingFault) -> Int? { try number(3...10_000)(text) }

    static func address(_ text: String) throws(SettingFault) -> SocketAddress? {
        guard let address = SocketAddress(text) else {
            throw SettingFault("a numeric address with a port, such as 127.0.0.1:8080 or [::]:8080")
        }
        return address
    }

    static func path(_ text: String) throws(SettingFault) -> String? {
        guard !text.utf8.contains(0) else { throw SettingFault("the path of a file") }
        return text
    }

    /// An identifier that the operator names: any text without NUL, at most 63 bytes as Postgres cuts it.
    static func identifier(_ text: String) throws(SettingFault) -> String {
        guard !text.isEmpty, text.utf8.count <= 63, !text.utf8.contains(0) else {
            throw SettingFault("a name of 1 to 63 bytes")
        }
        return text
    }

    /// 32 bytes each, as standard base64.
    static func keys(_ text: String) throws(SettingFault) -> [Secret<[UInt8]>] {
        var keys: [Secret<[UInt8]>] = []
        for item in try list(text) {
            guard let bytes = Base64.decode(item), bytes.count == 32 else {
                throw SettingFault("base64 of 32 bytes, or several separated by commas (openssl rand -base64 32)")
            }
            keys.append(Secret(bytes))
        }
        return keys
    }

    static func identitySecrets(_ text: String) throws(SettingFault) -> [Secret<[UInt8]>] {
        let secrets = try list(text).map { Secret(Array($0.utf8)) }
        guard secrets.allSatisfy({ $0.exposed.count >= 32 }) else {
            throw SettingFault("secrets of 32 characters or more, separated by commas")
        }
        return secrets
    }

    static func resourceServers(_ text: String) throws(SettingFault) -> [Settings.ResourceServer] {
        var servers: [Settings.ResourceServer] = []
        for item in try list(text) {
            let parts = item.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty, let hash = Hex.decode(parts[1]), hash.count == 32 else {
                throw SettingFault("id:sha256-hex-of-secret, a list separated by commas")
            }
            servers.append(Settings.ResourceServer(id: String(parts[0]), secretHash: hash))
        }
        return servers
    }

    static func proxies(_ text: String) throws(SettingFault) -> [CIDR] {
        var blocks: [CIDR] = []
        for item in try list(text) {
            guard let block = CIDR(item) else {
                throw SettingFault("addresses or CIDR blocks such as 10.0.0.0/8, separated by commas")
            }
            blocks.append(block)
        }
        return blocks
    }

    static func origins(_ text: String) throws(SettingFault) -> [String] {
        let items = try list(text)
        guard items.allSatisfy(WebOrigin.isValid) else {
            throw SettingFault(
                "origins such as https://app.example.com, in lower case and without a path, or schemes such as "
                    + "myapp://, separated by commas")
        }
        return items
    }

    static func columns(_ text: String) throws(SettingFault) -> [String: String] {
        var columns: [String: String] = [:]
        for item in try list(text) {
            guard let equals = item.firstIndex(of: "="), equals != item.startIndex else {
                throw SettingFault("name=column pairs such as session.userId=user_id, separated by commas")
            }
            columns[String(item[..<equals])] = try identifier(String(item[item.index(after: equals)...]))
        }
        return columns
    }
}
