import AuthDomain
import Reactor
import Telemetry

/// The signatures that wait on one loop, in the order asked for. Bound to that loop.
final class SigningQueue {
    private let engine: any SignatureEngine
    private let logger: Logger
    private let loop: EventLoop
    private var jobs: [Job] = []
    private var isDraining = false

    private struct Job {
        let request: SignatureRequest
        let call: Call
        let since: MonotonicInstant
    }

    /// What one caller waits for.
    private final class Call {
        let count: Int
        var signatures: [[UInt8]] = []
        var failure: Unavailability?
        var continuation: UnsafeContinuation<Void, Never>?

        var isDone: Bool { failure != nil || signatures.count == count }

        init(count: Int) {
            self.count = count
        }

        func resumeIfDone() {
            guard isDone, let waiting = continuation else { return }
            continuation = nil
            waiting.resume()
        }
    }

    init(engine: any SignatureEngine, logger: Logger, loop: EventLoop) {
        self.engine = engine
        self.logger = logger
        self.loop = loop
    }

    func sign(_ requests: [SignatureRequest]) async throws(Unavailability) -> [[UInt8]] {
        guard jobs.count + requests.count <= Limits.pendingSignaturesMax else { throw .busy }
        let call = Call(count: requests.count)
        let now = MonotonicInstant.now()
        for request in requests { jobs.append(Job(request: request, call: call, since: now)) }
        startDraining()
        // Nothing is signed before a later turn, so that the call cannot be done yet.
        await withUnsafeContinuation { call.continuation = $0 }
        if let failure = call.failure { throw failure }
        return call.signatures
    }

    private func startDraining() {
        guard !isDraining else { return }
        isDraining = true
        let queue = LoopBound(self, on: loop)
        loop.spawn { await queue.value.drain() }
    }

    /// One batch a quiet turn, filled with whatever has come until then.
    private func drain() async {
        while let oldest = jobs.first {
            await loop.quietTurn(for: .signature, since: oldest.since)
            signBatch()
        }
        isDraining = false
    }

    private func signBatch() {
        let batch = Array(jobs.prefix(engine.lanes))
        jobs.removeFirst(batch.count)
        do throws(Unavailability) {
            let signatures = try engine.signatures(of: batch.map(\.request), logger: logger)
            for (job, signature) in zip(batch, signatures) { job.call.signatures.append(signature) }
        } catch {
            for job in batch { job.call.failure = error }
            // The rest of a call that has failed is not worth a signature.
            jobs.removeAll { $0.call.isDone }
        }
        for job in batch { job.call.resumeIfDone() }
    }
}
