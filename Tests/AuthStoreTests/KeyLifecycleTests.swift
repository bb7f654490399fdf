import AuthDomain
import AuthStore
import AuthTesting
import Crypto
import JOSE
import Postgres
import Primitives
import Reactor
import Testing

@Suite("Key lifecycle on Postgres")
struct KeyLifecycleTests {
    @Test("a key goes from next to current to retired to removed by the clock, and each step is in the audit log")
    func life() async throws {
        let tables = try ScratchCluster.shared.database()
        try await onMigrated(tables) { pair in
            let clock = TestClock()
            let lifetimes: [KeyPurpose: Duration] = [.access: .minutes(30), .refresh: .days(30)]
            let (keyring, lifecycle) = (keyring(pair, lifetimes: lifetimes), lifecycle(clock))
            try await keyring.loadOrCreate()
            let old = try keyring.required().signing.kid
            #expect(try await lifecycle.advance(in: pair.main) == [])

            clock.advance(by: .days(90))
            let made: [KeyStep] = [.make(.access, .next), .make(.refresh, .next)]
            #expect(try await lifecycle.advance(in: pair.main) == made)
            #expect(try await lifecycle.advance(in: pair.main) == [])
            let published = try await keyring.reload().published.map(\.kid)
            #expect(published.count == 2 && published.first == old)
            let new = try #require(published.last)

            clock.advance(by: .minutes(30))
            #expect(try await lifecycle.advance(in: pair.main).contains(.promote(new)))
            #expect(try await keyring.reload().published.map(\.kid) == [new, old])
            #expect(keyring.keyring?.signing.kid == new)

            clock.advance(by: .minutes(30 + 62) - .seconds(1))
            #expect(try await lifecycle.advance(in: pair.main) == [])
            clock.advance(by: .seconds(1))
            #expect(try await lifecycle.advance(in: pair.main) == [.remove(old)])
            #expect(try await keyring.reload().published.map(\.kid) == [new])
            let events = try tables.sql(
                "SELECT event, kid FROM sallyport.audit_events WHERE kid IN ('\(old)', '\(new)') ORDER BY id")
            #expect(
                events == [["key_made", new], ["key_retired", old], ["key_promoted", new], ["key_removed", old]])
            #expect(
                try tables.sql("SELECT sealed_private_key IS NULL FROM sallyport.keys WHERE kid = '\(old)'") == [["t"]])
        }
    }

    @Test("of several servers that find a step due together one does it")
    func race() async throws {
        let tables = try ScratchCluster.shared.database()
        try await onMigrated(tables) { pair in
            let clock = TestClock()
            try await keyring(pair).loadOrCreate()
            clock.advance(by: .days(91))
            let lifecycles = (0..<3).map { _ in lifecycle(clock) }
            let counts = try await withThrowingTaskGroup(of: Int.self) { group in
                for lifecycle in lifecycles { group.addTask { try await lifecycle.advance(in: pair.main).count } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(counts.sorted() == [0, 0, 2])
            let found = try tables.sql("SELECT purpose FROM sallyport.keys WHERE state = 'next' ORDER BY purpose")
            #expect(found == [["access"], ["refresh"]])
        }
    }

    @Test("whoever holds the lock is not waited for by the schedule, and what was due is done afterwards")
    func locked() async throws {
        let tables = try ScratchCluster.shared.database()
        try await onMigrated(tables) { pair in
            let clock = TestClock()
            try await keyring(pair).loadOrCreate()
            clock.advance(by: .days(91))
            let lifecycle = lifecycle(clock)
            try await pair.main.transaction { transaction async throws(DatabaseError) in
                _ = try await transaction.run(
                    Statement("hold", "SELECT pg_advisory_xact_lock(8314045600251995513)"))
                let steps = try await lifecycle.advance(in: pair.main)
                #expect(steps == [])
            }
            #expect(try await lifecycle.advance(in: pair.main).count == 2)
        }
    }

    @Test("compromise destroys the private half and never leaves a purpose without a key that signs")
    func compromise() async throws {
        let tables = try ScratchCluster.shared.database()
        try await onMigrated(tables) { pair in
            let (keyring, lifecycle) = (keyring(pair), lifecycle(TestClock()))
            try await keyring.loadOrCreate()
            let first = try keyring.required()
            for key in [first.signing, first.refresh, first.verdict] {
                let steps: [KeyStep] = [.compromise(key.kid), .make(key.purpose, .current)]
                #expect(try await lifecycle.perform(.compromise(kid: key.kid), in: pair.main) == .success(steps))
            }
            let second = try await keyring.reload()
            #expect(second.published.map(\.kid) == [second.signing.kid])
            #expect(Set([second.signing.kid, second.refresh.kid, second.verdict.kid]).count == 3)
            #expect(second.accessKey(first.signing.kid) == nil)
            #expect(second.refreshKey(first.refresh.kid) == nil && second.isDestroyed(first.refresh.kid))
            #expect(second.refreshVerifier(first.refresh.kid) != nil)
            let left =
                "SELECT count(kid) FROM sallyport.keys WHERE state = 'compromised' AND sealed_private_key IS NULL"
            #expect(try tables.sql(left) == [["3"]])

            _ = try await lifecycle.perform(.rotate(.access), in: pair.main)
            let next = try #require(try await keyring.reload().published.last).kid
            let taken = try await lifecycle.perform(.compromise(kid: second.signing.kid), in: pair.main)
            #expect(taken == .success([.compromise(second.signing.kid), .promote(next)]))
            #expect(try await keyring.reload().published.map(\.kid) == [next])
        }
    }

    @Test("a refused command changes nothing, and one with another key-encryption key makes no key")
    func refused() async throws {
        let tables = try ScratchCluster.shared.database()
        try await onMigrated(tables) { pair in
            try await keyring(pair).loadOrCreate()
            let all = "SELECT kid, state, state_at FROM sallyport.keys ORDER BY kid"
            let before = try tables.sql(all)
            let none = try await lifecycle(TestClock()).perform(.compromise(kid: "nobody"), in: pair.main)
            #expect(none == .failure(.unknown("nobody")))
            let strange = lifecycle(TestClock(), sealing: FixedKeys.sealing(0x4c))
            await #expect(throws: DatabaseError.unavailable(.misconfigured)) {
                try await strange.perform(.rotate(.access), in: pair.main)
            }
            #expect(try tables.sql(all) == before)
            #expect(try tables.sql("SELECT count(id) FROM sallyport.audit_events") == [["0"]])
        }
    }

    @Test("every act on the keys reaches whoever listens, and a cut connection listens again")
    func notified() async throws {
        let tables = try ScratchCluster.shared.database()
        try await onMigrated(tables) { pair in
            let (keyring, lifecycle) = (keyring(pair), lifecycle(TestClock()))
            try await keyring.loadOrCreate()
            let news = Locked(0)
            pair.main.listenForNews { news.withLock { $0 += 1 } }
            func settled(above count: Int) async -> Int {
                let end = ContinuousClock.now + .seconds(20)
                while news.withLock({ $0 }) <= count, ContinuousClock.now < end {
                    await pair.main.loop.sleep(for: .milliseconds(10))
                }
                return news.withLock { $0 }
            }
            let begun = await settled(above: 0)
            #expect(begun == 1)
            _ = try await lifecycle.perform(.rotate(.access), in: pair.main)
            let told = await settled(above: begun)
            #expect(told == 2)
            try tables.sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN %' AND "
                    + "datname = current_database()")
            let again = await settled(above: told)
            #expect(again == 3)
            _ = try await lifecycle.perform(.rotate(.refresh), in: pair.main)
            #expect(await settled(above: again) == 4)
        }
    }

    @Test("sealing anew leaves nothing under the old key-encryption key, and everything opens with the new one alone")
    func rewrap() async throws {
        let tables = try ScratchCluster.shared.database()
        let (old, new) = (FixedKeys.sealing(), FixedKeys.sealing(0x4c))
        let both = try KeyEncryptionKeys([0x4c, 0x4b].map { Secret([UInt8](repeating: $0, count: 32)) })
        try await onMigrated(tables) { pair in
            try await keyring(pair).loadOrCreate()
            let kids = try await keyring(pair).reload().published.map(\.kid)
            let (device, session) = (UUID(random: SystemRandom()), UUID(random: SystemRandom()))
            let secret = try old.seal([1, 2, 3], context: "device-session:\(session)", random: SystemRandom())
            let push = try old.seal([4, 5, 6], context: "push-token:\(device)", random: SystemRandom())
            try tables.sql(
                """
                INSERT INTO sallyport.devices (id, user_id, installation_id, platform, status_at, created_at,
                    last_seen_at, push_provider, sealed_push_token, push_fingerprint)
                VALUES ('\(device)', 'u', 'i', 'ios', now(), now(), now(), 'apns', '\\x\(Hex.encode(push))', '\\x01');
                INSERT INTO sallyport.identity_sessions (id, user_id, token_hash, access_sid, expires_at, first_seen_at,
                    last_seen_at) VALUES ('s', 'u', '', 's', now(), now(), now());
                INSERT INTO sallyport.device_sessions (id, user_id, device_id, identity_session_id, client_id, scope,
                    auth_time, amr, created_at, expires_at, sealed_secret, generation, refresh_kid, issued_at,
                    token_expires_at, rotated_at)
                SELECT '\(session)', 'u', '\(device)', 's', 'app', '', now(), '{}', now(), now(),
                    '\\x\(Hex.encode(secret))', 1, kid, now(), now(), now()
                FROM sallyport.keys WHERE purpose = 'refresh'
                """)
            var outcome = KeyRewrap.Outcome()
            outcome.rewrapped = 7
            #expect(try await KeyRewrap(sealing: both, random: SystemRandom()).run(in: pair.main) == outcome)
            outcome.rewrapped = 0
            outcome.kept = 7
            #expect(try await KeyRewrap(sealing: both, random: SystemRandom()).run(in: pair.main) == outcome)
            outcome.kept = 0
            outcome.unreadable = 7
            #expect(try await KeyRewrap(sealing: old, random: SystemRandom()).run(in: pair.main) == outcome)

            #expect(try await keyring(pair, sealing: new).reload().published.map(\.kid) == kids)
            _ = try await keyring(pair, sealing: new).identitySecret()
            let sealed = try tables.sql(
                "SELECT encode(sealed_secret, 'hex'), encode(sealed_push_token, 'hex') FROM sallyport.device_sessions, sallyport.devices"
            )
            let row = try #require(sealed.first).map { Hex.decode($0) ?? [] }
            #expect(try new.open(row[0], context: "device-session:\(session)").exposed == [1, 2, 3])
            #expect(try new.open(row[1], context: "push-token:\(device)").exposed == [4, 5, 6])
        }
    }
}
