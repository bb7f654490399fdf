import AuthTesting
import JSON
import Primitives
import Testing

@testable import AuthDomain

@Suite("Identity watch, and what exchanges and refreshes make of it")
struct IdentityWatchTests {
    private let stack = TokenStack()

    private func watch(_ follow: IdentityFollow = .revocation) -> IdentityWatch {
        IdentityWatch(store: stack.store, follow: follow, clock: stack.clock)
    }

    /// Both reads, with the time between them.
    @discardableResult
    private func lookTwice(_ follow: IdentityFollow = .revocation) async throws -> IdentityWatch.Outcome {
        stack.clock.advance(by: .seconds(15))
        let first = try await watch(follow).look(every: .seconds(15))
        guard case .inDoubt(let census) = first else { return first }
        stack.clock.advance(by: .seconds(5))
        return try await watch(follow).confirm(census)
    }

    private func reason(_ body: () async throws(AuthFailure) -> TokenAnswer) async -> RefusalReason? {
        guard case .refused(let refusal) = await failure(body) else { return nil }
        return refusal.reason
    }

    private func refresh(_ answer: TokenAnswer) async throws(AuthFailure) -> TokenAnswer {
        try await stack.service.refresh(.init(token: answer.refresh?.token ?? "", key: nil, options: .init()))
    }

    /// Many users, each signed in on a device of their own.
    private func fleet(_ count: Int) async throws -> [TokenAnswer] {
        var answers: [TokenAnswer] = []
        for index in 0..<count {
            stack.signIn("user-\(index)")
            answers.append(try await stack.exchange("user-\(index)", installation: "installation-of-user-\(index)"))
        }
        return answers
    }

    @Test("a session that is gone ends its device session after the second read, not the first")
    func revoked() async throws {
        stack.signIn("bob")
        let answer = try await stack.exchange()
        stack.store.removeSession(column: "token-of-ada")
        stack.clock.advance(by: .seconds(15))
        guard case .inDoubt(let census) = try await watch().look(every: .seconds(15)) else {
            Issue.record("nothing is in doubt")
            return
        }
        let second = try await refresh(answer)
        stack.clock.advance(by: .seconds(5))
        #expect(try await watch().confirm(census) == .allWell)
        #expect(await reason { () async throws(AuthFailure) in try await refresh(second) } == .sessionRevoked)
    }

    @Test("a row that is back at the second read has never been gone")
    func back() async throws {
        let answer = try await stack.exchange()
        stack.signIn("bob")
        stack.store.removeSession(column: "token-of-ada")
        stack.clock.advance(by: .seconds(15))
        guard case .inDoubt(let census) = try await watch().look(every: .seconds(15)) else {
            Issue.record("nothing is in doubt")
            return
        }
        stack.putSession("ada", of: "ada")
        stack.clock.advance(by: .seconds(5))
        #expect(try await watch().confirm(census) == .allWell)
        _ = try await refresh(answer)
    }

    @Test("a passive expiry ends nothing, unless device sessions follow it", arguments: IdentityFollow.allCases)
    func expired(follow: IdentityFollow) async throws {
        stack.putSession("short", of: "ada", expiresIn: .seconds(10))
        let answer = try await stack.exchange("short")
        try await lookTwice(follow)
        let found = await reason { () async throws(AuthFailure) in try await refresh(answer) }
        #expect(found == (follow == .session ? .sessionExpired : nil))
    }

    @Test("a session that slid is known to live longer")
    func slid() async throws {
        stack.signIn("bob")
        stack.putSession("short", of: "ada", expiresIn: .seconds(30))
        let answer = try await stack.exchange("short")
        stack.putSession("short", of: "ada", expiresIn: .days(7))
        try await lookTwice()
        stack.clock.advance(by: .seconds(60))
        stack.store.removeSession(column: "token-of-short")
        try await lookTwice()
        #expect(await reason { () async throws(AuthFailure) in try await refresh(answer) } == .sessionRevoked)
    }

    @Test("one server looks at a time, and a clock that was set back stops nobody")
    func turns() async throws {
        #expect(try await watch().look(every: .seconds(15)) == .allWell)
        stack.clock.advance(by: .seconds(14))
        #expect(try await watch().look(every: .seconds(15)) == .notOurTurn)
        stack.clock.advance(by: .seconds(1))
        #expect(try await watch().look(every: .seconds(15)) == .allWell)
        stack.clock.advance(by: .days(-1))
        #expect(try await watch().look(every: .seconds(15)) == .allWell)
    }

    @Test("a mass disappearance gives no verdict: refreshes pass, exchanges of the vanished do not know")
    func disappearance() async throws {
        let answers = try await fleet(12)
        for index in 0..<11 { stack.store.removeSession(column: "token-of-user-\(index)") }
        // Before the watch has looked, and after it.
        for _ in 0..<2 {
            let exchange = await failure { () async throws(AuthFailure) in try await stack.exchange("user-0") }
            #expect(exchange == .unavailable(.dependency))
            guard case .disappearance(let found) = try await lookTwice() else {
                Issue.record("it was not noticed")
                return
            }
            #expect(found.cause == .rows && found.census.vanishedSessions == 11)
            for answer in answers { _ = try await refresh(answer) }
            _ = try await stack.exchange("user-11", installation: "installation-of-user-11")
        }
    }

    @Test("one user who signs out of many sessions is one user: their ends are believed", arguments: [false, true])
    func oneUser(sortsFirst: Bool) async throws {
        let answers = try await fleet(46)
        let name = sortsFirst ? "a-user" : "zoe"
        stack.store.putUser(name)
        var many: [TokenAnswer] = []
        for index in 0..<25 {
            stack.putSession("\(name)-\(index)", of: name)
            many.append(try await stack.exchange("\(name)-\(index)", installation: "installation-\(name)-\(index)"))
        }
        for index in 0..<25 { stack.store.removeSession(column: "token-of-\(name)-\(index)") }
        #expect(
            await reason { () async throws(AuthFailure) in try await stack.exchange("\(name)-0") } == .sessionRevoked)
        #expect(try await lookTwice() == .allWell)
        for answer in many {
            #expect(await reason { () async throws(AuthFailure) in try await refresh(answer) } == .sessionRevoked)
        }
        for answer in answers { _ = try await refresh(answer) }
    }

    @Test("users who end one of their sessions each have not vanished, at the second read neither")
    func oneOfTwo() async throws {
        let answers = try await fleet(30)
        var second: [TokenAnswer] = []
        for index in 0..<20 {
            stack.putSession("second-\(index)", of: "user-\(index)")
            second.append(try await stack.exchange("second-\(index)", installation: "installation-second-\(index)"))
        }
        for index in 0..<20 { stack.store.removeSession(column: "token-of-second-\(index)") }
        #expect(try await lookTwice() == .allWell)
        for answer in second {
            #expect(await reason { () async throws(AuthFailure) in try await refresh(answer) } == .sessionRevoked)
        }
        for answer in answers { _ = try await refresh(answer) }
    }

    @Test("rows that a view or a policy hides are no ends: neither a refresh nor an exchange is refused by them")
    func hiddenRows() async throws {
        let answer = try await stack.exchange()
        stack.store.setHidingRows(true)
        stack.store.removeSession(column: "token-of-ada")
        stack.store.removeUser("ada")
        _ = try await refresh(answer)
        for name in ["ada", "never-seen"] {
            let exchange = await failure { () async throws(AuthFailure) in try await stack.exchange(name) }
            #expect(exchange == .unavailable(.dependency), "\(name)")
        }
        try await lookTwice()
        _ = try await refresh(answer)
    }

    @Test("a session id that comes back for another user is their sign-in, and ends what rested on it before")
    func otherUser() async throws {
        let before = try await stack.exchange()
        stack.store.removeSession(column: "token-of-ada")
        stack.store.putUser("bob")
        stack.putSession("again", of: "bob", id: "s-ada")
        let exchanged = try await stack.exchange("again", installation: "installation-of-bob-1")
        _ = try await refresh(exchanged)
        _ = try await stack.accessToken("again")
        #expect(await reason { () async throws(AuthFailure) in try await refresh(before) } == .sessionRevoked)
    }

    @Test("one sample a second serves all who ask: a flood of tokens without a row reads no more than one")
    func sharedSample() async throws {
        _ = try await fleet(12)
        let reads = Locked(0)
        let look = SharedLook<Int>()
        let now = stack.clock.now()
        let values = await withTaskGroup(of: Int?.self, returning: [Int?].self) { group in
            for _ in 0..<64 {
                group.addTask {
                    try? await look.value(at: now) { () async throws(Unavailability) in
                        await Task.yield()
                        return reads.withLock {
                            $0 += 1; return $0
                        }
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(values == Array(repeating: 1, count: 64))
        for (seconds, expected) in [(0, 1), (1, 2), (-5, 3)] {
            let value = try await look.value(at: now + .seconds(Int64(seconds))) { () async throws(Unavailability) in
                reads.withLock {
                    $0 += 1; return $0
                }
            }
            #expect(value == expected, "after \(seconds) s")
        }
        await #expect(throws: Unavailability.busy) {
            try await look.value(at: now + .seconds(60)) { () async throws(Unavailability) in throw .busy }
        }
        #expect(try await look.value(at: now + .seconds(60)) { () async throws(Unavailability) in 9 } == 9)
    }

    @Test("confirmed, the vanished have ended; dismissed and still gone, it is noticed again")
    func decided() async throws {
        let answers = try await fleet(12)
        for index in 0..<11 { stack.store.removeSession(column: "token-of-user-\(index)") }
        try await lookTwice()
        #expect(try await stack.store.dismissDisappearance(at: stack.clock.now()))
        guard case .disappearance = try await lookTwice() else {
            Issue.record("it was not noticed again")
            return
        }
        #expect(try await stack.store.confirmDisappearance(at: stack.clock.now()) == 11)
        #expect(await reason { () async throws(AuthFailure) in try await refresh(answers[0]) } == .sessionRevoked)
        #expect(
            await reason { () async throws(AuthFailure) in try await stack.exchange("user-0") } == .sessionRevoked)
        _ = try await refresh(answers[11])
        #expect(try await stack.store.confirmDisappearance(at: stack.clock.now()) == nil)
        #expect(try await stack.store.dismissDisappearance(at: stack.clock.now()) == false)
    }

    @Test(
        "users that vanish together are not deleted: their refreshes pass, with what was last known of the user",
        arguments: [true, false])
    func vanishedUsers(isVerified: Bool) async throws {
        var answers = try await fleet(12)
        stack.store.putUser("user-0", isVerified: isVerified)
        answers[0] = try await refresh(answers[0])
        for index in 0..<12 { stack.store.removeUser("user-\(index)") }
        // Before the watch has looked, and after it; and the second time nothing else was learnt from the first.
        for _ in 0..<2 {
            answers[0] = try await refresh(answers[0])
            let claims = try DecodedToken(answers[0].accessToken).claims
            #expect(claims["email_verified"] == .bool(isVerified))
            #expect(claims["scope"] == .string(isVerified ? "api sync" : "api"))
            let exchange = await failure { () async throws(AuthFailure) in try await stack.exchange("user-0") }
            #expect(exchange == .unavailable(.dependency))
            guard case .disappearance = try await lookTwice() else {
                Issue.record("it was not noticed")
                return
            }
        }
        #expect(try await stack.store.confirmDisappearance(at: stack.clock.now()) == 12)
        #expect(await reason { () async throws(AuthFailure) in try await refresh(answers[0]) } == .accountDeleted)
    }

    @Test("a session whose user was never noted cannot be refreshed while its user is missing among many")
    func unnoted() async throws {
        let answers = try await fleet(12)
        for index in 0..<12 { stack.store.removeUser("user-\(index)") }
        stack.store.forgetVerification()
        let found = await failure { () async throws(AuthFailure) in try await refresh(answers[0]) }
        #expect(found == .unavailable(.dependency))
    }

    @Test("a lost part of a large store is noticed from inside it, before any look")
    func lostPart() async throws {
        // Ids in the order of text, more than the first batch has room for.
        let names = (0..<700).map { "user-\(1_000 + $0)" }
        for name in names {
            stack.signIn(name)
            _ = try await stack.accessToken(name)
        }
        for name in names[400...] { stack.store.removeSession(column: "token-of-\(name)") }
        for name in [names[400], names[699]] {
            let found = await failure { () async throws(AuthFailure) in try await stack.accessToken(name) }
            #expect(found == .unavailable(.dependency), "\(name)")
        }
        _ = try await stack.accessToken(names[0])
    }

    @Test("one user that is gone is deleted, and a refresh says so at once")
    func deleted() async throws {
        let answers = try await fleet(12)
        stack.store.removeUser("user-3")
        #expect(await reason { () async throws(AuthFailure) in try await refresh(answers[3]) } == .accountDeleted)
        _ = try await refresh(answers[4])
    }

    @Test("an end that was moved back ends its device session, also once the last known end is past")
    func movedBack() async throws {
        stack.putSession("short", of: "ada", expiresIn: .seconds(10))
        let answer = try await stack.exchange("short")
        stack.putSession("short", of: "ada", expiresIn: .seconds(5))
        try await lookTwice()
        #expect(await reason { () async throws(AuthFailure) in try await refresh(answer) } == .sessionRevoked)
    }

    @Test("what a replica does not show, or shows as over, is no verdict; what it shows as live is")
    func replica() async throws {
        let answer = try await stack.exchange()
        stack.signIn("bob")
        let other = try await stack.exchange("bob", installation: "installation-of-bob-1")
        stack.store.setMayBeBehind(true)
        // A session that the replica has not got yet, one that slid on the primary, one that it shows as banned.
        stack.store.removeSession(column: "token-of-ada")
        stack.putSession("bob", of: "bob", expiresIn: .seconds(-1))
        stack.signIn("eve")
        stack.store.putUser("eve", ban: IdentityUser.Ban(until: nil))
        for name in ["ada", "bob", "eve", "nobody"] {
            let found = await failure { () async throws(AuthFailure) in try await stack.exchange(name) }
            #expect(found == .unavailable(.dependency), "\(name)")
        }
        for follow in IdentityFollow.allCases { #expect(try await lookTwice(follow) == .allWell) }
        stack.store.removeUser("bob")
        #expect(try await lookTwice() == .allWell)
        _ = try await refresh(answer)
        _ = try await refresh(other)
        stack.putSession("ada", of: "ada")
        _ = try await stack.exchange()
    }

    @Test("a table that is not there is a disappearance once two users were signed in", arguments: [1, 2])
    func missingTable(users: Int) async throws {
        _ = try await fleet(users)
        stack.store.setTableMissing(true)
        stack.faults.fail(before: .sightings, .misconfigured)
        stack.clock.advance(by: .seconds(15))
        if users == 1 {
            await #expect(throws: Unavailability.misconfigured) { try await watch().look(every: .seconds(15)) }
        } else {
            guard case .disappearance(let found) = try await watch().look(every: .seconds(15)) else {
                Issue.record("it was not noticed")
                return
            }
            #expect(found.cause == .table)
        }
    }

    @Test("a read that fails is no sighting", arguments: Unavailability.allCases)
    func unavailable(fault: Unavailability) async throws {
        let answer = try await stack.exchange()
        stack.store.removeSession(column: "token-of-ada")
        stack.faults.fail(before: .sightings, fault)
        stack.clock.advance(by: .seconds(15))
        await #expect(throws: fault) { try await watch().look(every: .seconds(15)) }
        let exchange = await failure { () async throws(AuthFailure) in try await stack.exchange() }
        #expect(exchange == .unavailable(fault))
        stack.faults.reset()
        _ = try await refresh(answer)
    }
}
