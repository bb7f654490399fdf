import AuthDomain
import Primitives
import Testing

@Suite("Key commands")
struct KeyCommandTests {
    private let schedule = KeySchedule(publishLead: .minutes(30), rotation: .days(90))
    private let start = Timestamp(secondsSinceEpoch: 1_790_000_000)

    private var records: [KeyRecord] {
        [
            record("removed", .removed), record("lost", .compromised), record("old", .retired),
            record("now", .current), record("soon", .next), record("refresh", .current, .refresh),
            record("verdict", .current, .verdict),
        ]
    }

    private func record(_ kid: String, _ state: KeyState, _ purpose: KeyPurpose = .access) -> KeyRecord {
        KeyRecord(
            kid: kid, purpose: purpose, state: state, createdAt: start, stateAt: start, tokenLifetime: .minutes(30))
    }

    private func steps(
        _ command: KeyCommand, without kid: String = "", at time: Duration = .zero
    ) throws(KeyRefusal) -> [KeyStep] {
        try command.steps(records.filter { $0.kid != kid }, schedule, at: start + time)
    }

    private func expectRefusal(_ refusal: KeyRefusal, of command: KeyCommand, at time: Duration = .zero) {
        #expect(throws: refusal, "\(command)") { try steps(command, at: time) }
    }

    @Test("rotate publishes a next key of its purpose, and not a second one while one waits")
    func rotate() throws {
        #expect(try steps(.rotate(.access), without: "soon") == [.make(.access, .next)])
        #expect(try steps(.rotate(.refresh)) == [.make(.refresh, .next)])
        expectRefusal(.waiting("soon", signsAt: start + .minutes(30)), of: .rotate(.access))
    }

    @Test("promote takes the key that waits, named or not, once its lead is over; in an emergency sooner")
    func promote() throws {
        for kid in ["soon", nil] {
            let (calm, hasty) = (
                KeyCommand.promote(kid: kid, .access, isEmergency: false),
                KeyCommand.promote(kid: kid, .access, isEmergency: true)
            )
            #expect(try steps(calm, at: .minutes(30)) == [.promote("soon")])
            #expect(try steps(hasty) == [.promote("soon")])
            let refusal = KeyRefusal.leadNotOver("soon", signsAt: start + .minutes(30))
            expectRefusal(refusal, of: calm)
            expectRefusal(refusal, of: calm, at: .minutes(30) - .seconds(1))
        }
    }

    @Test("promote refuses what does not wait, in an emergency too")
    func promoteRefusals() {
        for isEmergency in [false, true] {
            func promote(_ kid: String?, _ purpose: KeyPurpose = .access) -> KeyCommand {
                .promote(kid: kid, purpose, isEmergency: isEmergency)
            }
            expectRefusal(.unknown("nobody"), of: promote("nobody"))
            expectRefusal(.isAlready("now", .current), of: promote("now"))
            expectRefusal(.isAlready("old", .retired), of: promote("old"))
            expectRefusal(.isAlready("lost", .compromised), of: promote("lost"))
            expectRefusal(.nothingWaits(.refresh), of: promote(nil, .refresh))
        }
    }

    @Test("retire ends the hold once no token lives, and withdraws a next key at any time")
    func retire() throws {
        let end = Duration.minutes(30) + .seconds(60) + .seconds(60)
        #expect(try steps(.retire(kid: "old", isEmergency: false), at: end) == [.remove("old")])
        expectRefusal(
            .tokensLive("old", until: start + end), of: .retire(kid: "old", isEmergency: false), at: end - .seconds(1))
        #expect(try steps(.retire(kid: "old", isEmergency: true)) == [.remove("old")])
        #expect(try steps(.retire(kid: "soon", isEmergency: false)) == [.remove("soon")])
    }

    @Test("retire never takes the key that signs, and refuses what is gone or unknown")
    func retireRefusals() {
        for isEmergency in [false, true] {
            for (kid, purpose) in [("now", KeyPurpose.access), ("refresh", .refresh), ("verdict", .verdict)] {
                expectRefusal(.signs(kid, purpose), of: .retire(kid: kid, isEmergency: isEmergency))
            }
            expectRefusal(.isAlready("removed", .removed), of: .retire(kid: "removed", isEmergency: isEmergency))
            expectRefusal(.unknown("nobody"), of: .retire(kid: "nobody", isEmergency: isEmergency))
        }
    }

    @Test("a refusal names the command that helps for this kind of key")
    func advice() {
        let lines = KeyPurpose.allCases.map { KeyRefusal.signs("now", $0).description }
        #expect(zip(KeyPurpose.allCases, lines).allSatisfy { $1.contains("keys rotate --refresh") == ($0 == .refresh) })
        #expect(KeyRefusal.signs("now", .access).description.contains("`sallyport keys rotate`"))
        #expect(KeyRefusal.signs("now", .verdict).description.contains("`sallyport keys rotate --verdict`"))
        #expect(KeyRefusal.nothingWaits(.refresh).description.contains("`sallyport keys rotate --refresh`"))
    }

    @Test("compromise of the signing key lets the next one take over whatever its lead, or makes another")
    func compromise() throws {
        #expect(try steps(.compromise(kid: "now")) == [.compromise("now"), .promote("soon")])
        #expect(try steps(.compromise(kid: "now"), without: "soon") == [.compromise("now"), .make(.access, .current)])
        #expect(try steps(.compromise(kid: "refresh")) == [.compromise("refresh"), .make(.refresh, .current)])
        #expect(try steps(.compromise(kid: "verdict")) == [.compromise("verdict"), .make(.verdict, .current)])
        for kid in ["soon", "old", "removed"] { #expect(try steps(.compromise(kid: kid)) == [.compromise(kid)]) }
        expectRefusal(.isAlready("lost", .compromised), of: .compromise(kid: "lost"))
        expectRefusal(.unknown("nobody"), of: .compromise(kid: "nobody"))
    }
}
