import AuthTesting
import Foundation
import JOSE
import JSON
import Primitives

/// A resource server as PowerSync is one: it keeps the key set for some seconds, fetches it anew for a key that it does
/// not know (not more often than once a second), and holds every access token against it: when it comes, five seconds
/// later, a second before its end, and all that are alive when the run ends.
final class KeySetReader: Sendable {
    private let surroundings: Surroundings
    /// The servers that are up, by number, past the relays: what a relay does is not the server's fault.
    private let servers: @Sendable () -> [(number: Int, port: UInt16)]
    private let state = Locked(State())

    private struct State {
        var set: JWKSet?
        var fetchedAt = -Double.infinity
        var seen: [Check] = []
        var due: [Check] = []
    }

    private struct Check {
        let token: String
        let family: String
        let time: Double
        let end: Double
    }

    private static let setKept = 5.0
    private static let refetchPause = 1.0

    init(_ surroundings: Surroundings, servers: @escaping @Sendable () -> [(number: Int, port: UInt16)]) {
        self.surroundings = surroundings
        self.servers = servers
    }

    /// - Returns: `nil` where no key set is to be had at this moment; the reader's own calls tell of that.
    func verify(_ token: String, family: String) -> Bool? {
        guard let claims = try? TokenPair.claims(token), let issued = claims["iat"]?.integerValue,
            let expires = claims["exp"]?.integerValue, expires > issued
        else { return false }
        let now = surroundings.now
        let end = now + Double(expires - issued)
        state.withLock { state in
            state.seen.append(Check(token: token, family: family, time: now, end: end))
            for time in [now + 5, end - 1] {
                state.due.append(Check(token: token, family: family, time: time, end: end))
            }
        }
        return isVerified(token)
    }

    /// Asks every server that is up for its key set, and does what is due, until the run ends.
    func run() {
        while !surroundings.hasEnded {
            for server in servers() { read(server.number, server.port) }
            let now = surroundings.now
            let due = state.withLock { state in
                let due = state.due.filter { $0.time <= now }
                state.due.removeAll { $0.time <= now }
                return due
            }
            for check in due { hold(check) }
            surroundings.rest(0.4)
        }
    }

    /// Once more, all that have not expired.
    func holdAll() {
        state.withLock { $0.fetchedAt = -.infinity }
        for server in servers() { read(server.number, server.port) }
        let now = surroundings.now
        for check in state.withLock({ $0.seen }) where check.end > now + 1 { hold(check) }
    }

    private func hold(_ check: Check) {
        let now = surroundings.now
        guard now < check.end, let isVerified = isVerified(check.token) else { return }
        var operation = Operation(.verification, .verifier, family: check.family, start: now, end: now)
        operation.isVerified = isVerified
        surroundings.record(operation)
    }

    private func isVerified(_ token: String) -> Bool? {
        let set = state.withLock { $0.set }
        if let set, Self.verifies(token, set) { return true }
        guard surroundings.now - state.withLock({ $0.fetchedAt }) > Self.refetchPause else {
            return set.map { _ in false }
        }
        for server in servers() { read(server.number, server.port, isUrgent: true) }
        return state.withLock { $0.set }.map { Self.verifies(token, $0) }
    }

    private func read(_ number: Int, _ port: UInt16, isUrgent: Bool = false) {
        var operation = Operation(.keySet, .verifier, family: "key set", server: number, start: surroundings.now)
        let answer = try? HTTPClient(port: port).send("GET", "/.well-known/jwks.json")
        operation.end = surroundings.now
        operation.status = answer?.status
        surroundings.record(operation)
        guard let answer, answer.status == 200, let set = try? JWKSet.parse(answer.body) else { return }
        state.withLock { state in
            guard isUrgent || operation.end - state.fetchedAt > Self.setKept else { return }
            state.set = set
            state.fetchedAt = operation.end
        }
    }

    private static func verifies(_ token: String, _ set: JWKSet) -> Bool {
        guard let jws = try? UnverifiedJWS(token) else { return false }
        return (try? jws.verifySignature { set[$0] }) != nil
    }
}
