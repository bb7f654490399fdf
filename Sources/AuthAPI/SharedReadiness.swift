import Primitives

/// One look at a time, for all who ask meanwhile: whoever may ask without a limit must not keep the database busy.
final class SharedReadiness: ReadinessSource {
    private struct State {
        var isLooking = false
        var waiters: [UnsafeContinuation<[ReadinessCheck]?, Never>] = []
    }

    private let source: any ReadinessSource
    private let state = Locked(State())

    init(_ source: any ReadinessSource) {
        self.source = source
    }

    func checks() async -> [ReadinessCheck] {
        let isFirst = state.withLock { state in
            defer { state.isLooking = true }
            return !state.isLooking
        }
        guard isFirst else { return await checksOfOther() }
        let checks = await source.checks()
        let waiters = state.withLock { state in
            defer { state = State() }
            return state.waiters
        }
        for waiter in waiters { waiter.resume(returning: checks) }
        return checks
    }

    private func checksOfOther() async -> [ReadinessCheck] {
        let found: [ReadinessCheck]? = await withUnsafeContinuation { continuation in
            let isWaiting = state.withLock { state in
                if state.isLooking { state.waiters.append(continuation) }
                return state.isLooking
            }
            if !isWaiting { continuation.resume(returning: nil) }
        }
        // It ended between the question and the wait.
        if let found { return found }
        return await checks()
    }
}
