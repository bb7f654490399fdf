import CLibPQ
import Primitives

/// A database URL taken apart: the hosts to try, the session settings in it, and every other keyword of libpq.
///
/// The whole of it is secret: it holds the password.
struct ConnectionTarget: Sendable {
    struct Host: Equatable, Sendable {
        /// A name, an address, or the folder of a unix socket.
        var name: String
        /// Where to connect if the URL says so itself.
        var address: String?
        var port: String
    }

    let hosts: [Host]
    /// All keywords but host, hostaddr, port and options.
    let keywords: [String: String]
    /// What the URL's `options` set.
    let settings: [String: String]

    /// libpq's own reading of URIs and `key=value` strings.
    ///
    /// - Throws: `.misconfigured` with the cause, for what libpq cannot read; a `service`, whose file may name hosts that
    ///   libpq would look up in place; lists of hosts, addresses and ports that do not match; options beside settings.
    /// Source: https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNSTRING
    init(_ url: Secret<String>) throws(DatabaseFault) {
        let text = url.exposed
        var keywords = try Self.parse(text)
        guard keywords["service"] == nil else {
            throw DatabaseFault(.misconfigured, "the database URL names a service", advice: "name the host in it")
        }
        let names = Self.list(keywords.removeValue(forKey: "host"))
        let addresses = Self.list(keywords.removeValue(forKey: "hostaddr"))
        let ports = Self.list(keywords.removeValue(forKey: "port"))
        let count = max(names.count, addresses.count, 1)
        guard count <= Limits.hostsMax, names.isEmpty || names.count == count,
            addresses.isEmpty || addresses.count == count, ports.count <= 1 || ports.count == count
        else {
            throw DatabaseFault(
                .misconfigured, "the lists of hosts, addresses and ports in the database URL do not match",
                advice: "name at most \(Limits.hostsMax) hosts, each with a port or all with one")
        }
        guard ports.allSatisfy({ $0.isEmpty || (UInt16($0) ?? 0) > 0 }) else {
            throw DatabaseFault(
                .misconfigured, "a port in the database URL is no number from 1 to 65535",
                advice: "write / : @ ? # % in a password as %2F %3A %40 %3F %23 %25")
        }
        hosts = (0..<count).map { index in
            let name = index < names.count ? names[index] : ""
            let address = index < addresses.count ? addresses[index] : ""
            let port = ports.count == 1 ? ports[0] : (index < ports.count ? ports[index] : "")
            return Host(
                name: name.isEmpty && address.isEmpty ? Limits.socketDirectoryDefault : name,
                address: address.isEmpty ? nil : address,
                port: port.isEmpty ? "5432" : port)
        }
        guard let settings = Self.settings(in: keywords.removeValue(forKey: "options") ?? "") else {
            throw DatabaseFault(
                .misconfigured, "options in the database URL holds more than settings",
                advice: "write it as -c name=value")
        }
        self.settings = settings
        self.keywords = keywords
        if let message = Self.refusal(of: keywords) { throw Self.fault(message, in: text) }
    }

    /// What must not be in a message about this target.
    var secrets: [String] { ["password", "sslpassword"].compactMap { keywords[$0] } }

    private static func list(_ text: String?) -> [String] {
        guard let text, !text.isEmpty else { return [] }
        return text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }

    private static func parse(_ text: String) throws(DatabaseFault) -> [String: String] {
        var message: UnsafeMutablePointer<CChar>?
        let options = PQconninfoParse(text, &message)
        defer {
            PQfreemem(message)
            PQconninfoFree(options)
        }
        guard let options else { throw fault(message.map { String(cString: $0) } ?? "", in: text) }
        var keywords: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { keywords[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        return keywords
    }

    /// What libpq says against the values of keywords, before it connects to anything; `nil` where it finds them good.
    ///
    /// It checks them only at the begin of a connection: one to a socket that cannot be there fails at once otherwise.
    private static func refusal(of keywords: [String: String]) -> String? {
        var checked = keywords
        checked["host"] = "@sallyport/none"
        let connection = ConnectionAttempt.begin(checked.map { ($0.key, $0.value) })
        defer { PQfinish(connection) }
        guard let connection else { return nil }
        let message = PQerrorMessage(connection).map { String(cString: $0) } ?? ""
        return message.hasPrefix("connection to server") ? nil : message
    }

    /// The message without what it quotes, which may be a piece of the password, unless that is the name or value of a
    /// parameter that holds none.
    private static func fault(_ message: String, in text: String) -> DatabaseFault {
        let query = text.split(separator: "?", maxSplits: 1).dropFirst().first.map(String.init) ?? ""
        let isPublic = !query.isEmpty && !query.holds("@") && !query.holds("password")
        var sentence = ""
        var quoted: [String] = []
        for (index, part) in message.split(separator: "\"", omittingEmptySubsequences: false).enumerated() {
            if index % 2 == 0 {
                sentence += part
            } else if isPublic, query.holds(String(part)) {
                sentence += "\"\(part)\""
                quoted.append(String(part))
            } else {
                sentence += "[redacted]"
            }
        }
        let words = sentence.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        let advice =
            quoted.lazy.compactMap { ConnectionAdvice.advice(ofParameter: $0, in: message) }.first
            ?? "write it as postgresql://user:password@host:5432/database, with / : @ ? # % in the password as "
            + "%2F %3A %40 %3F %23 %25, and after ? only parameters of libpq"
        return DatabaseFault(.misconfigured, "libpq cannot use the database URL (\(words))", advice: advice)
    }

    /// `-c name=value` and `--name=value`, with blanks in values behind backslashes. `nil` for anything else.
    private static func settings(in options: String) -> [String: String]? {
        var settings: [String: String] = [:]
        var words = words(of: options)[...]
        while var word = words.popFirst() {
            if word == "-c" {
                guard let next = words.popFirst() else { return nil }
                word = next
            } else if word.hasPrefix("-c") || word.hasPrefix("--") {
                word.removeFirst(2)
            } else {
                return nil
            }
            guard let equals = word.firstIndex(of: "="), equals != word.startIndex else { return nil }
            let name = String(word[..<equals].map { $0 == "-" ? "_" : $0 })
            settings[name] = String(word[word.index(after: equals)...])
        }
        return settings
    }

    private static func words(of options: String) -> [String] {
        var words = [""]
        var isEscaped = false
        for character in options {
            if isEscaped {
                words[words.count - 1].append(character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else if character.isWhitespace {
                words.append("")
            } else {
                words[words.count - 1].append(character)
            }
        }
        return words.filter { !$0.isEmpty }
    }
}

extension ConnectionTarget.Host {
    /// A unix socket: a folder, or a name in the abstract namespace.
    var isSocketFolder: Bool { name.hasPrefix("/") || name.hasPrefix("@") }
}
