import AuthDomain
import Primitives
import Testing

@Suite("Key schedule")
struct KeyScheduleTests {
    private let schedule = KeySchedule(publishLead: .minutes(30), rotation: .days(90))
    private let start = Timestamp(secondsSinceEpoch: 1_790_000_000)

    private func record(
        _ kid: String, _ state: KeyState, _ purpose: KeyPurpose = .access, made: Duration = .zero,
        since: Duration? = nil, lifetime: Duration = .minutes(30)
    ) -> KeyRecord {
        KeyRecord(
            kid: kid, purpose: purpose, state: state, createdAt: start + made, stateAt: start + (since ?? made),
            tokenLifetime: lifetime)
    }

    /// Purposes that a test says nothing of have a key that signs for long.
    private func due(_ records: [KeyRecord], at time: Duration) -> [KeyStep] {
        schedule.due(records + others(than: records), at: start + time)
    }

    private func others(than records: [KeyRecord]) -> [KeyRecord] {
        KeyPurpose.allCases.filter { purpose in !records.contains { $0.purpose == purpose } }
            .map { record("other-\($0)", .current, $0, made: .days(10_000)) }
    }

    @Test("a current key gets its successor one lead before it has signed for the time of the rotation, and no sooner")
    func successor() {
        let records = [record("a", .current)]
        #expect(due(records, at: .days(90) - .minutes(30) - .seconds(1)) == [])
        #expect(due(records, at: .days(90) - .minutes(30)) == [.make(.access, .next)])
        #expect(due(records, at: .days(1_000)) == [.make(.access, .next)])
        // A clock that was set back makes none.
        #expect(due(records, at: .days(-1_000)) == [])
    }

    @Test("a next key signs when its lead is over and not a second sooner, also after a long outage")
    func lead() {
        let records = [record("a", .current), record("b", .next, made: .days(90))]
        #expect(due(records, at: .days(90) + .minutes(30) - .seconds(1)) == [])
        #expect(due(records, at: .days(90) + .minutes(30)) == [.promote("b")])
        #expect(due(records, at: .days(400)) == [.promote("b")])
    }

    @Test("of several that wait the one that is published longest signs first, and none is made beside them")
    func several() {
        let records = [
            record("a", .current), record("c", .next, made: .minutes(2)), record("b", .next, made: .minutes(1)),
        ]
        #expect(due(records, at: .minutes(31)) == [.promote("b")])
        #expect(due(records, at: .minutes(30)) == [])
    }

    @Test(
        "a retired key stays until its last token is dead, a minute of followers and a minute of clocks later, and an hour"
    )
    func hold() {
        let records = [record("a", .retired, since: .days(90)), record("b", .current, made: .days(90))]
        let end = Duration.days(90) + .minutes(30) + .seconds(60) + .seconds(60) + .minutes(60)
        #expect(due(records, at: end - .seconds(1)) == [])
        #expect(due(records, at: end) == [.remove("a")])
    }

    @Test("the hold follows the longest lifetime that any server gave a token, not the present setting")
    func longLife() {
        let records = [record("a", .retired, lifetime: .minutes(60)), record("b", .current)]
        #expect(due(records, at: .minutes(60 + 62) - .seconds(1)) == [])
        #expect(due(records, at: .minutes(60 + 62)) == [.remove("a")])
    }

    @Test("refresh keys go the same way; a verdict key gets a successor by hand alone, which then waits as the others")
    func purposes() {
        let records = [
            record("a", .current, .refresh, lifetime: .days(30)), record("b", .current, .verdict),
            record("c", .current, made: .days(89)),
        ]
        #expect(due(records, at: .days(91)) == [.make(.refresh, .next)])
        let waiting = [record("a", .current, .verdict), record("b", .next, .verdict, made: .days(1))]
        #expect(due(waiting, at: .days(1) + .minutes(30) - .seconds(1)) == [])
        #expect(due(waiting, at: .days(1) + .minutes(30)) == [.promote("b")])
        let retired = [record("a", .retired, .refresh, lifetime: .days(30)), record("b", .current, .refresh)]
        #expect(due(retired, at: .days(30) + .minutes(61)) == [])
        #expect(due(retired, at: .days(30) + .minutes(62)) == [.remove("a")])
    }

    @Test("a purpose without a current key gets one at once, whoever took it away")
    func orphaned() {
        #expect(due([record("a", .retired)], at: .zero) == [.make(.access, .current)])
        #expect(due([record("a", .next), record("b", .removed)], at: .zero) == [.promote("a")])
        #expect(due([record("a", .compromised, .verdict)], at: .zero) == [.make(.verdict, .current)])
    }

    @Test("before the first set nothing is due, and what is removed or compromised is left alone")
    func nothing() {
        #expect(schedule.due([], at: start + .days(1_000)) == [])
        let records = [record("a", .removed), record("b", .compromised), record("c", .current, made: .days(999))]
        #expect(due(records, at: .days(1_000)) == [])
    }

    @Test(
        "minute by minute over ten days: one key signs at each moment, published for its lead, removed after its hold")
    func days() throws {
        var records = [record("0", .current, lifetime: .minutes(5))]
        let daily = KeySchedule(publishLead: .minutes(10), rotation: .days(1))
        var published = ["0": start]
        var signedLast: [String: Timestamp] = [:]
        for minute in 0..<Int64(10 * 24 * 60) {
            let now = start + .minutes(minute)
            for step in daily.due(records + others(than: records), at: now) {
                records = applied(step, to: records, at: now)
                if case .make = step { published[try #require(records.last).kid] = now }
                if case .remove(let kid) = step {
                    #expect(now - (try #require(signedLast[kid])) >= .minutes(5 + 1 + 60))
                }
            }
            let current = records.filter { $0.state == .current }
            #expect(current.count == 1)
            let kid = try #require(current.first).kid
            if kid != "0" { #expect(now - (try #require(published[kid])) >= .minutes(10)) }
            signedLast[kid] = now
            #expect(records.filter(\.state.isUsable).count <= 3)
        }
        #expect(signedLast.count >= 9)
    }

    private func applied(_ step: KeyStep, to records: [KeyRecord], at now: Timestamp) -> [KeyRecord] {
        func moved(_ record: KeyRecord, to state: KeyState) -> KeyRecord {
            KeyRecord(
                kid: record.kid, purpose: record.purpose, state: state, createdAt: record.createdAt, stateAt: now,
                tokenLifetime: record.tokenLifetime)
        }
        switch step {
        case .make(let purpose, let state):
            return records + [
                KeyRecord(
                    kid: String(records.count), purpose: purpose, state: state, createdAt: now, stateAt: now,
                    tokenLifetime: .minutes(5))
            ]
        case .promote(let kid):
            return records.map {
                $0.kid == kid ? moved($0, to: .current) : $0.state == .current ? moved($0, to: .retired) : $0
            }
        case .remove(let kid): return records.map { $0.kid == kid ? moved($0, to: .removed) : $0 }
        case .compromise(let kid): return records.map { $0.kid == kid ? moved($0, to: .compromised) : $0 }
        }
    }
}
