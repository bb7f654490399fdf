package import AuthDomain
import Primitives

/// The calls of all ports, by name.
package enum PortCall: String, Sendable, CaseIterable {
    case refreshView, rotate, endSession, exchangeView, mintView, register, remember, accessView, endIdentitySession
    case endAllSessions, user, revokeAccessToken
    case devices, device, updateDevice, revokeDevice, loseDevice, clearLostDevice, revokeDevices
    case watch, sightings
    case reloadKeys, sign
}

/// Faults and hooks at the calls of the in-memory ports; one object may serve several ports.
///
/// A fault *before* a call leaves everything as it was; a fault *after* it is a lost answer: the effect stays.
package final class PortFaults: Sendable {
    package typealias Hook = @Sendable () async -> Void

    private struct State {
        var always: Unavailability?
        var atNumber: (number: Int, fault: Unavailability)?
        var before: [PortCall: Unavailability] = [:]
        var after: [PortCall: Unavailability] = [:]
        var hooksBefore: [PortCall: [Hook]] = [:]
        var hooksAfter: [PortCall: [Hook]] = [:]
        var calls: [PortCall] = []
    }

    private let state = Locked(State())

    package init() {}

    /// The calls since the last `reset`.
    package var calls: [PortCall] { state.withLock { $0.calls } }

    /// Forgets faults, hooks and calls.
    package func reset() { state.withLock { $0 = State() } }

    /// Every call fails, `nil`: none.
    package func failAlways(_ fault: Unavailability?) { state.withLock { $0.always = fault } }

    /// The n-th call from now fails, counted from 1 over all ports that share this object.
    package func failCall(number: Int, _ fault: Unavailability) {
        state.withLock { $0.atNumber = (number, fault) }
    }

    /// This call fails each time and changes nothing.
    package func fail(before call: PortCall, _ fault: Unavailability?) { state.withLock { $0.before[call] = fault } }

    /// This call fails each time, after it has done its work.
    package func fail(after call: PortCall, _ fault: Unavailability?) { state.withLock { $0.after[call] = fault } }

    /// Runs once, when the call comes next and has not done anything yet.
    package func once(before call: PortCall, _ hook: @escaping Hook) {
        state.withLock { $0.hooksBefore[call, default: []].append(hook) }
    }

    /// Runs once, when the call has done its work and its answer is on the way.
    package func once(after call: PortCall, _ hook: @escaping Hook) {
        state.withLock { $0.hooksAfter[call, default: []].append(hook) }
    }

    func enter(_ call: PortCall) async throws(Unavailability) {
        let (fault, hook) = state.withLock { state -> (Unavailability?, Hook?) in
            state.calls.append(call)
            var fault = state.always ?? state.before[call]
            if let (number, numbered) = state.atNumber {
                state.atNumber = number > 1 ? (number - 1, numbered) : nil
                if number == 1 { fault = numbered }
            }
            return (fault, Self.first(of: &state.hooksBefore, call))
        }
        await hook?()
        if let fault { throw fault }
    }

    func leave(_ call: PortCall) async throws(Unavailability) {
        let (fault, hook) = state.withLock { ($0.after[call], Self.first(of: &$0.hooksAfter, call)) }
        await hook?()
        if let fault { throw fault }
    }

    private static func first(of hooks: inout [PortCall: [Hook]], _ call: PortCall) -> Hook? {
        guard let hook = hooks[call]?.first else { return nil }
        hooks[call]?.removeFirst()
        return hook
    }
}
