package import Primitives

/// The proxies whose word counts, and whose request it is by their word.
///
/// Each proxy writes the address that it was called from behind what it got. So the list is read from the right: the
/// connection's peer is known, and whom it names is believed if it is a trusted proxy itself, and so on to the left. What
/// the client wrote stands left of the first address that is no proxy's, and is never read. Nothing else of the two fields
/// is used: host and scheme of our links come from the settings.
package struct TrustedProxies: Sendable {
    private let networks: [CIDR]

    package init(_ networks: [CIDR] = []) {
        self.networks = networks
    }

    package func contains(_ address: IPAddress) -> Bool {
        networks.contains { $0.contains(address) }
    }

    /// The last address that is believed: a hop that does not say one (`unknown`, `_hidden`, malformed) ends the walk.
    package func client(of request: HTTPRequest) -> IPAddress {
        guard contains(request.peer) else { return request.peer }
        let standard = request.fields.valueBytes(of: "forwarded")
        let common = request.fields.valueBytes(of: "x-forwarded-for")
        let byStandard = walk(from: request.peer, standard, ForwardedHop.standard)
        if common.isEmpty { return byStandard }
        let byCommon = walk(from: request.peer, common, ForwardedHop.common)
        if standard.isEmpty { return byCommon }
        // A proxy that writes one of the two hands on the other as the client sent it, and nothing tells which it is.
        return byStandard == byCommon ? byCommon : request.peer
    }

    private func walk(
        from peer: IPAddress, _ lines: [ArraySlice<UInt8>], _ form: ForwardedHop.Form
    ) -> IPAddress {
        var believed = peer
        for line in lines.reversed() {
            var rest: ArraySlice<UInt8>? = line
            while let whole = rest {
                guard contains(believed) else { return believed }
                let hop = form.last(of: whole, rest: &rest)
                guard let address = form.address(hop) else { return believed }
                believed = address
            }
        }
        return believed
    }
}
