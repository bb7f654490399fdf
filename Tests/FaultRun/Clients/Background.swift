import AuthTesting
import Foundation
import JSON
import Primitives

/// What goes on beside the fleet: rubbish tokens, new sign-ins, connections that say nothing.
struct Background: Sendable {
    let surroundings: Surroundings
    let keySets: KeySetReader
    let seed: UInt64
    let makeSession: @Sendable () throws -> String

    /// Ten times a second a token that nobody minted; each must be a verdict, or an honest "later".
    func sendRubbish() {
        let random = SeededRandom(seed: seed)
        while !surroundings.hasEnded {
            let relay = Int(random.number(in: Int64(0)...1))
            var operation = Operation(.other, .contender, family: "rubbish", server: relay, start: surroundings.now)
            let answer = try? HTTPClient(port: surroundings.relays[relay].port).send(
                "POST", "/auth/token", fields: [("Content-Type", "application/x-www-form-urlencoded")],
                body: Array("grant_type=refresh_token&refresh_token=\(Hex.encode(random.bytes(40)))".utf8))
            operation.end = surroundings.now
            operation.status = answer?.status
            operation.reason = answer?.json?["error_reason"]?.stringValue
            operation.action = answer?.json?["client_action"]?.stringValue
            operation.retryAfter = answer?.field("retry-after").flatMap { Int64($0) }
            surroundings.record(operation)
            surroundings.rest(0.1)
        }
    }

    /// One a second, half of them on an installation that was there before; each refreshes once.
    func signIn() {
        var count = 0
        while !surroundings.hasEnded {
            guard let session = try? makeSession() else {
                surroundings.rest(0.5)
                continue
            }
            var habits = SimulatedDevice.Habits()
            habits.actor = .contender
            let visitor = SimulatedDevice(
                surroundings, keySets, session: session, installation: "visitor-installation-\(count / 2)",
                habits: habits, seed: seed &+ UInt64(count))
            visitor.signIn()
            visitor.refresh(copies: 2)
            count += 1
            surroundings.rest(1)
        }
    }
}
