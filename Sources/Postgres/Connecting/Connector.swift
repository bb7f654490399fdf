import Reactor

/// Finds a host of the URL that answers. Bound to its loop.
final class Connector {
    let target: ConnectionTarget
    private let configuration: DatabaseConfiguration
    private let loop: EventLoop
    /// Where the last connection came about: asked first, so that an unreachable host costs its timeout once.
    private var preferred = 0

    init(_ target: ConnectionTarget, _ configuration: DatabaseConfiguration, on loop: EventLoop) {
        self.target = target
        self.configuration = configuration
        self.loop = loop
    }

    /// A libpq connection that the caller frees, from the first host and address that fits.
    ///
    /// - Throws: the most telling reason of all hosts: one that answered says more than one that did not.
    func connect() async throws(DatabaseError) -> OpaquePointer {
        var reasons: [Unavailability] = []
        let first = preferred
        for offset in target.hosts.indices {
            let index = (first + offset) % target.hosts.count
            let host = target.hosts[index]
            for address in await addresses(of: host) {
                do {
                    let keywords = target.keywords(for: host, at: address, configuration)
                    let connection = try await ConnectionAttempt(on: loop)
                        .run(keywords, timeout: configuration.connectTimeout)
                    preferred = index
                    return connection
                } catch .unavailable(let reason) {
                    reasons.append(reason)
                } catch {
                    reasons.append(.dependency)
                }
            }
        }
        preferred = (first + 1) % target.hosts.count
        throw .unavailable(reasons.first { $0 != .dependency } ?? .dependency)
    }

    /// `[nil]` for a unix socket; empty when the name is not known.
    private func addresses(of host: ConnectionTarget.Host) async -> [String?] {
        if let address = host.address { return [address] }
        if host.isSocketFolder { return [nil] }
        let found = await NameResolver.addresses(of: host.name, on: loop)
        return found.prefix(Limits.addressesPerHostMax).map { $0 }
    }
}
