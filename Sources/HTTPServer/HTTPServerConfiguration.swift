package import HTTP
package import Primitives
package import Reactor
package import TLS

/// Where a server listens and what a connection may cost. The defaults are the product's.
package struct HTTPServerConfiguration: Sendable {
    /// Ten thousand clients that stay connected, and some more.
    package static let usualConnectionsMax = 12_288

    /// Port 0 takes a free one.
    package var address: SocketAddress
    package var limits: HTTPLimits
    /// From a request's first byte, or from the connection's begin, to the end of its head: for the whole of it.
    package var headerDeadline: Duration
    /// From the end of a head to the end of its content, for the whole of it.
    package var bodyDeadline: Duration
    /// Between two requests. Longer than the usual 60 s of a balancer, so that the balancer closes first.
    package var idleDeadline: Duration
    /// For one send: a peer that stops reading is given up after it.
    package var writeDeadline: Duration
    /// After this long without a byte a connection gives its task back: one that is used keeps it, the many that only
    /// stay open hold none.
    package var timeToRest: Duration
    /// Connections of the whole process, those of the reserve included; one more is answered 503.
    package var connectionsMax: Int
    /// Connections of one client: an IPv4 address or an IPv6 /64. `nil`: no limit.
    package var connectionsPerAddress: Int?
    /// Peers that speak for many clients, so that the limit of one is not theirs.
    package var trustedProxies: TrustedProxies
    /// Bytes of the whole process in buffers of connections that wait for the rest of a message, beyond what each may
    /// hold anyway. Over it such a connection is answered 503.
    package var waitingBytesMax: Int
    /// With certificates, TLS is spoken and nothing else. The header deadline covers the handshake too.
    package var certificates: TLSCertificates?
    /// For `Date` alone.
    package var clock: any WallClock

    package init(
        address: SocketAddress,
        limits: HTTPLimits = HTTPLimits(),
        headerDeadline: Duration = .seconds(10),
        bodyDeadline: Duration = .seconds(30),
        idleDeadline: Duration = .seconds(75),
        writeDeadline: Duration = .seconds(30),
        timeToRest: Duration = .seconds(1),
        connectionsMax: Int = usualConnectionsMax,
        connectionsPerAddress: Int? = nil,
        trustedProxies: TrustedProxies = TrustedProxies(),
        waitingBytesMax: Int = 268_435_456,
        certificates: TLSCertificates? = nil,
        clock: any WallClock
    ) {
        self.address = address
        self.limits = limits
        self.headerDeadline = headerDeadline
        self.bodyDeadline = bodyDeadline
        self.idleDeadline = idleDeadline
        self.writeDeadline = writeDeadline
        self.timeToRest = timeToRest
        self.connectionsMax = connectionsMax
        self.connectionsPerAddress = connectionsPerAddress
        self.trustedProxies = trustedProxies
        self.waitingBytesMax = waitingBytesMax
        self.certificates = certificates
        self.clock = clock
    }

    /// Connections for `Limits.reservedPaths` alone, while all others are taken.
    package var connectionsReserved: Int { min(Limits.connectionsReserved, connectionsMax / 4) }

    /// Whose connections are counted together with those of this peer; `nil` for a trusted proxy.
    func client(of peer: IPAddress) -> IPAddress? {
        if trustedProxies.contains(peer) { return nil }
        return peer.isIPv4 ? peer : peer.prefix(64)
    }

    /// What connections hold at most, in bytes of heap, whatever clients send and however slowly they read: what each may
    /// hold by itself, and the bytes that wait for more.
    package var connectionBytesMax: Int {
        let each = Limits.connectionBytes + (certificates == nil ? 0 : Limits.secureConnectionBytes)
        return connectionsMax * (each + Limits.bytesUncounted) + waitingBytesMax
    }
}
