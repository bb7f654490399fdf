package import AuthDomain
import Crypto
import Primitives

/// Signs where it is called.
package final class InlineSigner: TokenSigner {
    private let count = Locked(0)
    private let faults: PortFaults

    package init(faults: PortFaults = PortFaults()) {
        self.faults = faults
    }

    /// Signatures made so far.
    package var signatures: Int { count.withLock { $0 } }

    package func sign(_ requests: [SignatureRequest]) async throws(Unavailability) -> [[UInt8]] {
        try await faults.enter(.sign)
        var signatures: [[UInt8]] = []
        for request in requests {
            do throws(CryptoError) {
                signatures.append(try request.key.sign(request.message))
            } catch {
                throw .dependency
            }
        }
        count.withLock { $0 += requests.count }
        try await faults.leave(.sign)
        return signatures
    }
}
