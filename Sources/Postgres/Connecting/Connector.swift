import Primitives
import Reactor

/// Reads the URL again where it came from a file, and finds a host of it that answers. Bound to its loop.
final class Connector {
    private(set) var target: ConnectionTarget
    private let url: DatabaseURL
    private var text: String
    private let configuration: DatabaseConfiguration
    private let loop: EventLoop
    /// Where the last connection came about: asked first, so that an unreachable host costs its timeout once.
    private var preferred = 0

    init(_ url: DatabaseURL, _ configuration: DatabaseConfiguration, on loop: EventLoop) throws(DatabaseFault) {
        target = try ConnectionTarget(url.text)
        self.url = url
        text = url.text.exposed
        self.configuration = configuration
        self.loop = loop
    }

    /// A libpq connection that the caller frees, from the first host and address that fits.
    ///
    /// - Throws: the most telling reason of all hosts: one that answered says more than one that did not.
    func connect() async throws(DatabaseFault) -> OpaquePointer {
        await rereadURL()
        let target = target
        var faults: [DatabaseFault] = []
        let first = preferred % target.hosts.count
        for offset in target.hosts.indices {
            let index = (first + offset) % target.hosts.count
            let host = target.hosts[index]
            let addresses = await addresses(of: host)
            if addresses.isEmpty {
                faults.append(
                    DatabaseFault(
                        .dependency, "the host name \(host.name) is not known", advice: "correct the host in the URL"))
            }
            for address in addresses {
                do {
                    let keywords = target.keywords(for: host, at: address, configuration)
                    let connection = try await ConnectionAttempt(on: loop)
                        .run(keywords, hiding: target.secrets, timeout: configuration.connectTimeout)
                    preferred = index
                    return connection
                } catch {
                    faults.append(error)
                }
            }
        }
        preferred = (first + 1) % target.hosts.count
        throw faults.first { $0.reason != .dependency } ?? faults.first
            ?? DatabaseFault(.dependency, "no server answers")
    }

    /// Takes a changed URL. One that is half written, or cannot be read, leaves the last good one in force.
    private func rereadURL() async {
        guard let reread = url.reread, let found = await loop.offload(reread), found.exposed != text,
            let changed = try? ConnectionTarget(found)
        else { return }
        (target, text) = (changed, found.exposed)
    }

    /// `[nil]` for a unix socket; empty when the name is not known.
    private func addresses(of host: ConnectionTarget.Host) async -> [String?] {
        if let address = host.address { return [address] }
        if host.isSocketFolder { return [nil] }
        let found = await NameResolver.addresses(of: host.name, on: loop)
        return found.prefix(Limits.addressesPerHostMax).map { $0 }
    }
}
