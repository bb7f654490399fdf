import CLibPQ
import Primitives

/// A database URL taken apart: the hosts to try, and every other keyword of libpq.
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
    /// All keywords but host, hostaddr and port.
    let keywords: [String: String]

    /// libpq's own reading of URIs and `key=value` strings.
    ///
    /// Refused as `.misconfigured`: what libpq cannot read; a `service`, whose file may name hosts that libpq would
    /// look up in place; lists of hosts, addresses and ports that do not match.
    /// Source: https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNSTRING
    init(_ url: Secret<String>) throws(DatabaseError) {
        guard var keywords = Self.parse(url.exposed), keywords["service"] == nil else {
            throw .unavailable(.misconfigured)
        }
        let names = Self.list(keywords.removeValue(forKey: "host"))
        let addresses = Self.list(keywords.removeValue(forKey: "hostaddr"))
        let ports = Self.list(keywords.removeValue(forKey: "port"))
        let count = max(names.count, addresses.count, 1)
        guard count <= Limits.hostsMax, names.isEmpty || names.count == count,
            addresses.isEmpty || addresses.count == count, ports.count <= 1 || ports.count == count
        else { throw .unavailable(.misconfigured) }

        hosts = (0..<count).map { index in
            let name = index < names.count ? names[index] : ""
            let address = index < addresses.count ? addresses[index] : ""
            let port = ports.count == 1 ? ports[0] : (index < ports.count ? ports[index] : "")
            return Host(
                name: name.isEmpty && address.isEmpty ? Limits.socketDirectoryDefault : name,
                address: address.isEmpty ? nil : address,
                port: port.isEmpty ? "5432" : port)
        }
        self.keywords = keywords
    }

    private static func list(_ text: String?) -> [String] {
        guard let text, !text.isEmpty else { return [] }
        return text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }

    /// `nil` when libpq refuses the text. Its message is dropped: it may quote the password.
    private static func parse(_ text: String) -> [String: String]? {
        var message: UnsafeMutablePointer<CChar>?
        let options = PQconninfoParse(text, &message)
        defer {
            PQfreemem(message)
            PQconninfoFree(options)
        }
        guard let options else { return nil }
        var keywords: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { keywords[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        return keywords
    }
}

extension ConnectionTarget.Host {
    /// A unix socket: a folder, or a name in the abstract namespace.
    var isSocketFolder: Bool { name.hasPrefix("/") || name.hasPrefix("@") }
}
