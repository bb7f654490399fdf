import AuthTesting
import Crypto
import Foundation
import JSON
import Primitives

/// One installation of an app, as the contract asks for it: the key beside the stored token, kept on every retry.
package final class SimulatedDevice: Sendable {
    struct Habits: Sendable {
        /// Whether it sends an `Idempotency-Key`.
        var hasKeys = true
        /// Seconds between two refreshes.
        var pause = 1.5...4.0
        /// The share of refreshes that are sent two to four times at once.
        var racingShare = 0.15
        /// Of a device that loses the answer of its first refreshes: how long it is away before it asks again.
        var sleep: ClosedRange<Double>?
        /// One that does not tells how soon a success is possible.
        var waitsAsTold = true
        var actor = Operation.Actor.owner
    }

    private struct State {
        var family: String
        var deviceID = ""
        var access = ""
        /// The newest last; a few are kept for thieves and probes.
        var tokens: [StoredToken] = []
        /// Of the newest token; used up with it.
        var key: String?
        var isOver = false
    }

    struct StoredToken: Sendable {
        let generation: Int64
        let token: String
    }

    private static let tokensKept = 8
    /// What a client obeys by asking for a new sign-in.
    private static let ends: Set = ["lock", "wipe", "reauth"]

    let session: String
    let installation: String
    private let habits: Habits
    private let surroundings: Surroundings
    private let keySets: KeySetReader
    private let random: SeededRandom
    private let state: Locked<State>

    init(
        _ surroundings: Surroundings, _ keySets: KeySetReader, session: String, installation: String, habits: Habits,
        seed: UInt64
    ) {
        self.surroundings = surroundings
        self.keySets = keySets
        self.session = session
        self.installation = installation
        self.habits = habits
        random = SeededRandom(seed: seed)
        state = Locked(State(family: installation))
    }

    var family: String { state.withLock { $0.family } }
    var isSignedIn: Bool { state.withLock { !$0.tokens.isEmpty } }
    /// A verdict came.
    var isOver: Bool { state.withLock { $0.isOver } }
    var newest: StoredToken? { state.withLock { $0.tokens.last } }
    var oldest: StoredToken? { state.withLock { $0.tokens.first } }

    // MARK: Its life

    /// Exchanges the session until it is answered.
    func signIn() {
        while !surroundings.hasEnded, !isSignedIn {
            let relay = Int(random.number(in: 0...1))
            var operation = Operation(
                .signIn, habits.actor, family: installation, server: relay, start: surroundings.now)
            let form = [
                (name: "grant_type", value: AuthClient.exchangeGrant), (name: "subject_token", value: session),
                (name: "subject_token_type", value: AuthClient.sessionType), (name: "device_id", value: installation),
            ]
            let answer = send(form, key: nil, relay)
            operation.end = surroundings.now
            if let pair = answer.flatMap({ try? TokenPair($0) }) { operation.family = pair.sid }
            fill(&operation, answer)
            surroundings.record(operation)
            if let pair = answer.flatMap({ try? TokenPair($0) }) {
                store(pair)
            } else {
                surroundings.rest(random.number(in: 0.1...0.4))
            }
        }
    }

    /// Refreshes at its own pace until the run ends or a verdict comes.
    func live() {
        surroundings.rest(random.number(in: 0...habits.pause.upperBound))
        if let sleep = habits.sleep {
            loseAnAnswer()
            surroundings.rest(random.number(in: sleep))
        }
        while !surroundings.hasEnded, !isOver {
            let copies = random.chance(habits.racingShare) ? Int(random.number(in: Int64(2)...4)) : 1
            let told = refresh(copies: copies)
            let wait = habits.waitsAsTold ? told : told.map { min($0, 0.1) }
            surroundings.rest(wait ?? random.number(in: habits.pause))
        }
    }

    /// Presents the newest token, `copies` times at once, on both servers in turn. The same token and key stay until
    /// an answer has been read whole.
    ///
    /// - Returns: seconds to wait where there was no success.
    @discardableResult
    func refresh(copies: Int = 1, as actor: Operation.Actor? = nil) -> Double? {
        guard let newest else { return 1 }
        let key = habits.hasKeys ? keyOfNewest() : nil
        let first = Int(random.number(in: Int64(0)...1))
        let answers =
            (try? HTTPClient.together(copies) { index in
                self.present(newest, key: key, relay: (first + index) % 2, as: actor ?? self.habits.actor)
            }) ?? []
        let pairs = answers.compactMap { $0.flatMap { try? TokenPair($0) } }
        for pair in pairs { store(pair) }
        if !pairs.isEmpty { return nil }
        // A stale copy of a race is no end: the newest token stands.
        if answers.contains(where: { Self.ends.contains($0?.json?["client_action"]?.stringValue ?? "") }) {
            state.withLock { $0.isOver = true }
        }
        let told = answers.compactMap { $0?.field("retry-after").flatMap { Double($0) } }.max()
        return told ?? random.number(in: 0.1...1)
    }

    /// The server does the work and the device never reads of it.
    private func loseAnAnswer() {
        guard let newest else { return }
        _ = present(newest, key: habits.hasKeys ? keyOfNewest() : nil, relay: 0, as: habits.actor)
    }

    // MARK: What others do to it

    /// Presents a token that was copied from it, without the key.
    func presentCopy(_ copy: StoredToken, as actor: Operation.Actor) -> Int? {
        present(copy, key: nil, relay: 0, as: actor)?.status
    }

    /// Ends another device of the same user.
    ///
    /// - Returns: whether the server has confirmed it.
    func revoke(_ other: SimulatedDevice) -> Bool {
        let (access, target) = (state.withLock { $0.access }, other.state.withLock { $0.deviceID })
        var operation = Operation(.revoke, .owner, family: other.family, start: surroundings.now)
        let answer = try? HTTPClient(port: surroundings.relays[0].port).send(
            "DELETE", "/auth/devices/\(target)", fields: [("Authorization", "Bearer \(access)")])
        operation.end = surroundings.now
        fill(&operation, answer)
        surroundings.record(operation)
        return answer?.status == 204
    }

    // MARK: Calls

    private func present(
        _ presented: StoredToken, key: String?, relay: Int, as actor: Operation.Actor
    ) -> HTTPAnswer? {
        var operation = Operation(
            .refresh, actor, family: family, server: relay, presentedGeneration: presented.generation,
            start: surroundings.now)
        operation.keyHash = key.map(Self.hash)
        let form = [
            (name: "grant_type", value: "refresh_token"), (name: "refresh_token", value: presented.token),
        ]
        let answer = send(form, key: key, relay)
        operation.end = surroundings.now
        fill(&operation, answer)
        surroundings.record(operation)
        return answer
    }

    private func send(_ form: [(name: String, value: String)], key: String?, _ relay: Int) -> HTTPAnswer? {
        try? HTTPClient(port: surroundings.relays[relay].port).send(
            "POST", "/auth/token",
            fields: [("Content-Type", "application/x-www-form-urlencoded")]
                + (key.map { [("Idempotency-Key", $0)] } ?? []),
            body: Array(FormCoding.encode(form).utf8))
    }

    private func fill(_ operation: inout Operation, _ answer: HTTPAnswer?) {
        guard let answer else { return }
        operation.status = answer.status
        operation.reason = answer.json?["error_reason"]?.stringValue
        operation.action = answer.json?["client_action"]?.stringValue
        operation.retryAfter = answer.field("retry-after").flatMap { Int64($0) }
        guard let pair = try? TokenPair(answer) else { return }
        operation.generation = try? pair.generation
        operation.tokenHash = Self.hash(pair.refresh)
        operation.isVerified = keySets.verify(pair.access, family: operation.family)
    }

    private func store(_ pair: TokenPair) {
        guard let generation = try? pair.generation else { return }
        state.withLock { state in
            state.access = pair.access
            guard generation > state.tokens.last?.generation ?? -1 else { return }
            state.family = pair.sid
            state.deviceID = pair.deviceID
            state.key = nil
            state.tokens = (state.tokens + [StoredToken(generation: generation, token: pair.refresh)]).suffix(
                Self.tokensKept)
        }
    }

    private func keyOfNewest() -> String {
        let made = "key-" + Hex.encode(random.bytes(16))
        return state.withLock { state in
            let key = state.key ?? made
            state.key = key
            return key
        }
    }

    private static func hash(_ text: String) -> String { Hex.encode(SHA256.hash(Array(text.utf8)).prefix(8)) }
}
