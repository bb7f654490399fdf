import AuthTesting
import Crypto
import JOSE
import Primitives

/// A verifier with the habits of PowerSync's, which knows nothing but the address of a key set.
///
/// Fetches lazily; anew once its copy is five minutes old and a token comes in, which is still judged by the old copy; drops
/// the copy after an hour without success. A token of an unknown key **fails** and makes a fetch due, within a budget: ten
/// at once, one more a minute, and after the n-th a pause of n² · 0.6 s. A 5xx keeps the copy; a 200 of another shape
/// throws it away for five minutes. Time is a number of seconds that the test moves. One thread uses it.
final class CachingVerifier {
    private static let refreshAge = 300.0
    private static let dropAge = 3_600.0
    private static let budgetMax = 10.0

    private let server: AuthClient
    private(set) var judged = 0
    private(set) var fetches = 0
    private(set) var refusals: [String] = []
    private var keys: [String: VerificationKey]?
    private var fetchedAt = 0.0
    private var blockedUntil = 0.0
    private var budget = CachingVerifier.budgetMax
    private var budgetAt = 0.0
    private var fetchedForUnknownAt = -Double.infinity
    private var isDue = false

    init(_ server: AuthClient) {
        self.server = server
    }

    /// `nil` when the token passes, else the reason; which is also kept.
    @discardableResult
    func judge(_ token: String, at now: Double) -> String? {
        judged += 1
        if keys != nil, now - fetchedAt > Self.dropAge { keys = nil }
        if isDue || keys == nil, now >= blockedUntil { fetch(at: now) }
        let reason = reason(token, at: now)
        // In the background, for the next token.
        if now - fetchedAt > Self.refreshAge { isDue = true }
        if let reason { refusals.append(reason) }
        return reason
    }

    private func reason(_ token: String, at now: Double) -> String? {
        guard let keys else { return "no key set" }
        do throws(JOSEError) {
            try UnverifiedJWS(token).verifySignature { keys[$0] }
            return nil
        } catch .unknownKey(let kid) {
            if takesBudget(at: now) { isDue = true }
            return "unknown key \(kid)"
        } catch {
            return "\(error)"
        }
    }

    private func takesBudget(at now: Double) -> Bool {
        budget = min(Self.budgetMax, budget + (now - budgetAt) / 60)
        budgetAt = now
        let spent = (Self.budgetMax - budget).rounded(.up)
        guard budget >= 1, now - fetchedForUnknownAt >= spent * spent * 0.6 else { return false }
        budget -= 1
        fetchedForUnknownAt = now
        return true
    }

    private func fetch(at now: Double) {
        isDue = false
        fetches += 1
        guard let answer = try? server.get("/.well-known/jwks.json"), answer.status == 200 else { return }
        guard let set = try? JWKSet.parse(answer.body), !set.isEmpty else {
            keys = nil
            blockedUntil = now + Self.refreshAge
            return
        }
        keys = Dictionary(set.keys.map { ($0.kid, $0.key) }) { first, _ in first }
        fetchedAt = now
    }
}

/// Mints on one server and verifies by the key set of another, again and again, on a thread of its own.
///
/// SAFETY: the verifier is touched by the thread of `run` only, and by the test once that has returned.
final class MintingLoad: @unchecked Sendable {
    private let minting: AuthClient
    private let session: String
    private let lifetime: Double
    let verifier: CachingVerifier
    private let state = Locked((now: 0.0, rounds: 0, isOver: false))

    /// - Parameter lifetime: of an access token, in the seconds of the test's time.
    init(minting: AuthClient, verifyingBy verifying: AuthClient, session: String, lifetime: Double) {
        self.minting = minting
        self.session = session
        self.lifetime = lifetime
        verifier = CachingVerifier(verifying)
    }

    /// Until `end`. A token that lives is judged at its birth and again with every later one.
    func run() throws {
        var held: [(token: String, end: Double)] = []
        while true {
            let (now, _, isOver) = state.withLock { $0 }
            if isOver { return }
            let answer = try minting.get("/auth/token", bearer: session)
            held.append((try answer.text("access_token"), now + lifetime))
            held.removeAll { $0.end <= now }
            for (token, _) in held.suffix(2) + held.prefix(2) { verifier.judge(token, at: now) }
            state.withLock { $0.rounds += 1 }
        }
    }

    /// Moves the time, and waits until two rounds have begun in it.
    func advance(by seconds: Double) {
        let rounds = state.withLock { state in
            state.now += seconds
            return state.rounds
        }
        waitUntil(limit: .seconds(20)) { state.withLock { $0.isOver || $0.rounds >= rounds + 2 } }
    }

    func end() { state.withLock { $0.isOver = true } }
}
