import AuthTesting
import Crypto
import Foundation
import JOSE
import JSON
import Primitives

/// What all clients of a run share: where the servers are, the clock, and the history that is written.
package final class Surroundings: Sendable {
    /// Relays in front of the servers.
    let relays: [CutRelay]
    private let origin = ContinuousClock.now
    private let recorded = Locked(History())
    private let keySet = Locked<JWKSet?>(nil)
    private let isEnding = Locked(false)
    /// A server's own port, for the key set: what a relay does is not the server's fault.
    private let direct: @Sendable () -> [UInt16]

    init(relays: [CutRelay], direct: @escaping @Sendable () -> [UInt16]) {
        self.relays = relays
        self.direct = direct
    }

    var now: Double {
        let parts = (ContinuousClock.now - origin).components
        return Double(parts.seconds) + Double(parts.attoseconds) / 1e18
    }

    var hasEnded: Bool { isEnding.withLock { $0 } }

    func end() { isEnding.withLock { $0 = true } }

    func record(_ operation: Operation) { recorded.withLock { $0.operations.append(operation) } }

    func record(_ fault: FaultWindow) { recorded.withLock { $0.faults.append(fault) } }

    package var history: History { recorded.withLock { $0 } }

    /// By the key set alone; one that does not know the key is fetched anew once.
    func isVerified(_ token: String) -> Bool {
        if let set = keySet.withLock({ $0 }), verifies(token, set) { return true }
        for port in direct() {
            guard let answer = try? HTTPClient(port: port).send("GET", "/.well-known/jwks.json"), answer.status == 200,
                let set = try? JWKSet.parse(answer.body)
            else { continue }
            keySet.withLock { $0 = set }
            return verifies(token, set)
        }
        // No key set to be had at this moment: the reader of the key set tells of that.
        return true
    }

    /// Reads the key set of every server that runs, until the end.
    func pollKeySets() {
        while !hasEnded {
            for port in direct() {
                var operation = Operation(.keySet, .verifier, family: "key set", server: "\(port)", start: now)
                operation.status = try? HTTPClient(port: port).send("GET", "/.well-known/jwks.json").status
                operation.end = now
                record(operation)
            }
            usleep(400_000)
        }
    }

    private func verifies(_ token: String, _ set: JWKSet) -> Bool {
        guard let jws = try? UnverifiedJWS(token) else { return false }
        return (try? jws.verifySignature { set[$0] }) != nil
    }
}

/// One installation of an app, as the contract asks for it: the key beside the stored token, kept on every retry.
package final class SimulatedDevice: @unchecked Sendable {
    // SAFETY: used by one thread at a time; the run joins the device's thread before it probes.
    let session: String
    let installation: String
    private let surroundings: Surroundings
    private let hasKeys: Bool
    private(set) var family: String
    private(set) var deviceID = ""
    private(set) var access = ""
    private(set) var tokens: [(generation: Int64, token: String)] = []
    private var key: String?
    private(set) var isOver = false

    init(_ surroundings: Surroundings, session: String, installation: String, hasKeys: Bool) {
        self.surroundings = surroundings
        self.session = session
        self.installation = installation
        self.hasKeys = hasKeys
        family = installation
    }

    var generation: Int64 { tokens.last?.generation ?? 0 }

    /// Exchanges the session until it is answered.
    func signIn() {
        while !surroundings.hasEnded {
            var operation = Operation(.signIn, .owner, family: installation, server: "", start: surroundings.now)
            let relay = surroundings.relays[SeededChance.count(in: 0...1)]
            let answer = try? Self.exchange(session, installation, HTTPClient(port: relay.port))
            fill(&operation, answer)
            if let answer, let pair = try? TokenPair(answer) {
                family = pair.sid
                operation.family = pair.sid
                deviceID = pair.deviceID
                store(pair)
            }
            surroundings.record(operation)
            if !tokens.isEmpty { return }
            Thread.sleep(forTimeInterval: SeededChance.number(in: 0.1...0.4))
        }
    }

    /// Refreshes about every `pause` until the run ends or a verdict comes.
    func live(pause: ClosedRange<Double>, waitsAsTold: Bool) {
        while !surroundings.hasEnded, !isOver {
            let copies = SeededChance.happens(0.15) ? SeededChance.count(in: 2...4) : 1
            let retryAfter = refresh(copies: copies)
            let wait = retryAfter.map { waitsAsTold ? $0 : 0.1 } ?? SeededChance.number(in: pause)
            let end = surroundings.now + wait
            while surroundings.now < end, !surroundings.hasEnded { usleep(20_000) }
        }
    }

    /// Presents the newest token, `copies` times at once, on both servers in turn. The same token and key stay until
    /// an answer has been read whole.
    ///
    /// - Returns: seconds to wait where there was no success.
    @discardableResult
    func refresh(copies: Int = 1, as actor: Operation.Actor = .owner) -> Double? {
        guard let newest = tokens.last else { return 1 }
        if hasKeys, key == nil { key = "key-\(UUID().uuidString)" }
        let first = SeededChance.count(in: 0...1)
        let presentedKey = key
        let answers =
            (try? HTTPClient.together(copies) { index in
                self.present(
                    newest, key: presentedKey, relay: (first + index) % self.surroundings.relays.count, as: actor)
            }) ?? []
        let pairs = answers.compactMap { $0.flatMap { try? TokenPair($0) } }
        if let pair = pairs.max(by: { ((try? $0.generation) ?? 0) < ((try? $1.generation) ?? 0) }) {
            store(pair)
            key = nil
            return nil
        }
        if answers.contains(where: { [400, 401].contains($0?.status) && $0?.json?["client_action"] != nil }) {
            isOver = true
        }
        let told = answers.compactMap { $0?.field("retry-after").flatMap { Double($0) } }.max()
        return told ?? SeededChance.number(in: 0.1...1)
    }

    /// Presents an old token that an attacker has copied: without its key.
    func presentCopy(ofGeneration generation: Int64, as actor: Operation.Actor) -> HTTPAnswer? {
        guard let copy = tokens.first(where: { $0.generation == generation }) else { return nil }
        return present(copy, key: nil, relay: 0, as: actor)
    }

    /// Ends another device of the same user.
    func revoke(_ other: SimulatedDevice) {
        var operation = Operation(.revoke, .owner, family: other.family, server: "", start: surroundings.now)
        let client = HTTPClient(port: surroundings.relays[0].port)
        let answer = try? client.send(
            "DELETE", "/auth/devices/\(other.deviceID)", fields: [("Authorization", "Bearer \(access)")])
        fill(&operation, answer)
        surroundings.record(operation)
    }

    private func present(
        _ presented: (generation: Int64, token: String), key: String?, relay: Int, as actor: Operation.Actor
    ) -> HTTPAnswer? {
        var operation = Operation(
            .refresh, actor, family: family, server: "\(relay)", presentedGeneration: presented.generation,
            start: surroundings.now)
        let form = [
            (name: "grant_type", value: "refresh_token"), (name: "refresh_token", value: presented.token),
        ]
        let answer = try? HTTPClient(port: surroundings.relays[relay].port).send(
            "POST", "/auth/token",
            fields: [("Content-Type", "application/x-www-form-urlencoded")]
                + (key.map { [("Idempotency-Key", $0)] } ?? []),
            body: Array(FormCoding.encode(form).utf8))
        fill(&operation, answer)
        surroundings.record(operation)
        return answer
    }

    private func fill(_ operation: inout Operation, _ answer: HTTPAnswer?) {
        operation.end = surroundings.now
        guard let answer else { return }
        operation.status = answer.status
        operation.reason = answer.json?["error_reason"]?.stringValue
        operation.action = answer.json?["client_action"]?.stringValue
        operation.hasRetryAfter = answer.field("retry-after") != nil
        guard let pair = try? TokenPair(answer) else { return }
        operation.generation = try? pair.generation
        operation.tokenHash = Hex.encode(SHA256.hash(Array(pair.refresh.utf8)).prefix(8))
        operation.isVerified = surroundings.isVerified(pair.access)
    }

    private func store(_ pair: TokenPair) {
        access = pair.access
        guard let generation = try? pair.generation, generation > self.generation else { return }
        tokens = (tokens + [(generation, pair.refresh)]).suffix(8)
    }

    private static func exchange(_ session: String, _ installation: String, _ client: HTTPClient) throws -> HTTPAnswer {
        let form = [
            (name: "grant_type", value: AuthClient.exchangeGrant), (name: "subject_token", value: session),
            (name: "subject_token_type", value: AuthClient.sessionType), (name: "device_id", value: installation),
        ]
        return try client.send(
            "POST", "/auth/token", fields: [("Content-Type", "application/x-www-form-urlencoded")],
            body: Array(FormCoding.encode(form).utf8))
    }
}
