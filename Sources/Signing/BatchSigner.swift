package import AuthDomain
import Crypto
import Reactor
package import Telemetry
package struct BatchSigner: TokenSigner {
    package init(logger: Logger) {}
    package func sign(_ requests: [SignatureRequest]) async throws(Unavailability) -> [[UInt8]] {
        var out: [[UInt8]] = []
        for r in requests {
            if let l = EventLoop.current { await l.quietTurn() }
            guard let s = try? r.key.sign(r.message) else { throw .dependency }
            out.append(s)
        }
        return out
    }
}
