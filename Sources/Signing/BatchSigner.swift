package import AuthDomain
import Crypto
import Primitives
import Reactor
package import Telemetry

/// Signs on the loop of its caller, in turns in which no socket has news, so that whoever only reads does not wait behind
/// a storm of refreshes.
///
/// One for the process, with a queue for each loop. Off a loop it signs in place: commands and tests have no reader to
/// keep waiting.
package final class BatchSigner: TokenSigner {
    private let engine: any SignatureEngine
    private let logger: Logger
    private let mints: Metrics.Histogram?
    private let queues = Locked<[ObjectIdentifier: LoopBound<SigningQueue>]>([:])

    /// - Parameter mints: told how long each call took, its wait included.
    package init(engine: any SignatureEngine = OpenSSLEngine(), logger: Logger, mints: Metrics.Histogram? = nil) {
        self.engine = engine
        self.logger = logger
        self.mints = mints
    }

    /// - Throws: `busy` when too many signatures wait on this loop; `dependency` when the engine fails, which is logged.
    package func sign(_ requests: [SignatureRequest]) async throws(Unavailability) -> [[UInt8]] {
        guard !requests.isEmpty else { return [] }
        guard let loop = EventLoop.current else { return try inPlace(requests) }
        let start = ContinuousClock.now
        let signatures = try await queue(on: loop).value.sign(requests)
        mints?.observe(start.duration(to: .now))
        return signatures
    }

    private func queue(on loop: EventLoop) -> LoopBound<SigningQueue> {
        queues.withLock { queues in
            if let queue = queues[ObjectIdentifier(loop)] { return queue }
            // The queue keeps its loop, so that the identifier cannot come to mean another.
            let queue = LoopBound(SigningQueue(engine: engine, logger: logger, loop: loop), on: loop)
            queues[ObjectIdentifier(loop)] = queue
            return queue
        }
    }

    private func inPlace(_ requests: [SignatureRequest]) throws(Unavailability) -> [[UInt8]] {
        var signatures: [[UInt8]] = []
        for start in stride(from: 0, to: requests.count, by: engine.lanes) {
            let batch = Array(requests[start..<min(start + engine.lanes, requests.count)])
            signatures += try engine.signatures(of: batch, logger: logger)
        }
        return signatures
    }
}

extension SignatureEngine {
    /// A failure of the engine is ours and no verdict on any credential.
    func signatures(of batch: [SignatureRequest], logger: Logger) throws(Unavailability) -> [[UInt8]] {
        do throws(CryptoError) {
            let signatures = try sign(batch)
            if signatures.count == batch.count { return signatures }
            logger.throttled(.error, "a signature engine returned the wrong number of signatures")
        } catch {
            logger.throttled(.error, "signing failed", [LogField("crypto.error", "\(error)")])
        }
        throw .dependency
    }
}
