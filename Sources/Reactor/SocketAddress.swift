import CLinux
import Glibc
package import Primitives

/// An IPv4 or IPv6 address with a port: `127.0.0.1:8080`, `[::1]:8080`.
package struct SocketAddress: Hashable, Sendable, CustomStringConvertible {
    package enum Family: Sendable {
        case ipv4, ipv6
    }

    package let family: Family
    /// 4 or 16 bytes in network order.
    package let bytes: [UInt8]
    package let port: UInt16

    /// `nil` for anything but a numeric address and a port; names are not looked up.
    package init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        var host = text[..<colon]
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        if isBracketed { host = host.dropFirst().dropLast() }
        var buffer = [UInt8](repeating: 0, count: 16)
        if isBracketed {
            guard inet_pton(AF_INET6, String(host), &buffer) == 1 else { return nil }
        } else {
            guard inet_pton(AF_INET, String(host), &buffer) == 1 else { return nil }
            buffer.removeLast(12)
        }
        self.init(family: isBracketed ? .ipv6 : .ipv4, bytes: buffer, port: port)
    }

    init(family: Family, bytes: [UInt8], port: UInt16) {
        self.family = family
        self.bytes = bytes
        self.port = port
    }

    /// `nil` for another family than the two.
    init?(_ storage: sockaddr_storage) {
        var storage = storage
        switch Int32(storage.ss_family) {
        case AF_INET:
            let address = withUnsafeBytes(of: &storage) { $0.load(as: sockaddr_in.self) }
            self.init(
                family: .ipv4, bytes: withUnsafeBytes(of: address.sin_addr) { Array($0) },
                port: UInt16(bigEndian: address.sin_port))
        case AF_INET6:
            let address = withUnsafeBytes(of: &storage) { $0.load(as: sockaddr_in6.self) }
            self.init(
                family: .ipv6, bytes: withUnsafeBytes(of: address.sin6_addr) { Array($0) },
                port: UInt16(bigEndian: address.sin6_port))
        default:
            return nil
        }
    }

    package func withPort(_ port: UInt16) -> SocketAddress {
        SocketAddress(family: family, bytes: bytes, port: port)
    }

    package var isLoopback: Bool {
        switch family {
        case .ipv4: bytes[0] == 127
        case .ipv6: bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] == 1
        }
    }

    /// The address without its port.
    package var ipAddress: IPAddress {
        let halves = stride(from: 0, to: bytes.count, by: 8).map { start in
            bytes[start..<min(start + 8, bytes.count)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        }
        return family == .ipv4 ? IPAddress(ipv4: UInt32(halves[0])) : IPAddress(high: halves[0], low: halves[1])
    }

    /// The address without its port, as text.
    package var host: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        _ = inet_ntop(addressFamily, bytes, &text, socklen_t(text.count))
        return text.withUnsafeBufferPointer { characters in
            String(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }

    package var description: String {
        family == .ipv6 ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    var addressFamily: Int32 { family == .ipv4 ? AF_INET : AF_INET6 }

    func withSockAddr<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        switch family {
        case .ipv4:
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            withUnsafeMutableBytes(of: &address.sin_addr) { $0.copyBytes(from: bytes) }
            return withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        case .ipv6:
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            withUnsafeMutableBytes(of: &address.sin6_addr) { $0.copyBytes(from: bytes) }
            return withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    body($0, socklen_t(MemoryLayout<sockaddr_in6>.size))
                }
            }
        }
    }
}

func errnoNow() -> Int32 { errno }
