import AuthTesting
import Postgres
import Primitives
import Reactor
import Testing

@Suite("Writes and transactions")
struct WriteTests {
    private static let schema = """
        CREATE TABLE parents (id bigint CONSTRAINT parents_pkey PRIMARY KEY);
        CREATE TABLE children (
            id bigint CONSTRAINT children_pkey PRIMARY KEY,
            parent_id bigint NOT NULL CONSTRAINT children_parent_fkey REFERENCES parents DEFERRABLE,
            size bigint NOT NULL DEFAULT 1 CONSTRAINT children_size_check CHECK (size > 0)
        );
        INSERT INTO parents VALUES (1);
        CREATE FUNCTION refuse() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no''; END';
        """
    private static let insert = Statement(
        "insert", "INSERT INTO children (id, parent_id, size) VALUES ($1, $2, $3)", [.int64, .int64, .int64])
    private static let count = Statement("count", "SELECT count(*) AS n FROM children")
    private static let touch = Statement("touch", "UPDATE parents SET id = id WHERE id = $1", [.int64])
    private static let deferAll = Statement("defer_all", "SET CONSTRAINTS ALL DEFERRED")

    private func withTables(
        configure: (inout DatabaseConfiguration) -> Void = { _ in },
        _ body: @escaping @Sendable (Database, ScratchDatabase) async throws -> Void
    ) async throws {
        try await withScratch(configure: configure) { database, scratch async throws in
            try scratch.value(Self.schema)
            try await body(database, scratch)
        }
    }

    @Test(
        "a row that breaks a rule is refused with the rule's name",
        arguments: [
            ([SQLValue.int64(1), .int64(1), .int64(1)], DatabaseError.conflict(constraint: "children_pkey")),
            ([.int64(2), .int64(99), .int64(1)], .missingReference(constraint: "children_parent_fkey")),
            ([.int64(2), .int64(1), .int64(0)], .checkFailed(constraint: "children_size_check")),
            ([.int64(2), .null, .int64(1)], .checkFailed(constraint: "parent_id")),
        ])
    func rules(values: [SQLValue], expected: DatabaseError) async throws {
        try await withTables { database, _ async throws in
            _ = try await database.write(Self.insert, [.int64(1), .int64(1), .int64(1)])
            let error = await failure { () async throws(DatabaseError) in try await database.write(Self.insert, values)
            }
            #expect(error == expected)
            #expect(try await database.read(Self.count)[0].int64("n") == 1)
        }
    }

    @Test("an error raised in a function is told by its code")
    func function() async throws {
        let refuse = Statement("refuse", "SELECT refuse() AS n")
        try await withTables { database, _ async throws in
            let write = await failure { () async throws(DatabaseError) in try await database.write(refuse) }
            let read = await failure { () async throws(DatabaseError) in try await database.read(refuse) }
            #expect(write == .functionFailed(sqlState: "P0001"))
            #expect(read == .functionFailed(sqlState: "P0001"))
        }
    }

    @Test("a transaction is seen by others once it has committed, and not before")
    func commit() async throws {
        try await withTables { database, _ async throws in
            let inside = try await database.transaction { transaction throws(DatabaseError) in
                _ = try await transaction.run(Self.insert, [.int64(1), .int64(1), .int64(1)])
                _ = try await transaction.run(Self.insert, [.int64(2), .int64(1), .int64(1)])
                let outside = try await database.read(Self.count)[0].int64("n")
                return (own: try await transaction.run(Self.count)[0].int64("n"), outside: outside)
            }
            #expect(inside.own == 2)
            #expect(inside.outside == 0)
            #expect(try await database.read(Self.count)[0].int64("n") == 2)
        }
    }

    @Test("nothing stays of a transaction whose body throws")
    func rollBack() async throws {
        try await withTables { database, _ async throws in
            let error = await failure { () async throws(DatabaseError) in
                try await database.transaction { transaction throws(DatabaseError) in
                    _ = try await transaction.run(Self.insert, [.int64(1), .int64(1), .int64(1)])
                    _ = try await transaction.run(Self.insert, [.int64(1), .int64(1), .int64(1)])
                }
            }
            #expect(error == .conflict(constraint: "children_pkey"))
            #expect(try await database.read(Self.count)[0].int64("n") == 0)
            _ = try await database.write(Self.insert, [.int64(1), .int64(1), .int64(1)])
        }
    }

    @Test("nothing stays of a transaction that asked for its rollback, nor of one that swallowed an error")
    func quietRollBack() async throws {
        try await withTables { database, _ async throws in
            let value = try await database.transaction { transaction throws(DatabaseError) in
                _ = try await transaction.run(Self.insert, [.int64(1), .int64(1), .int64(1)])
                transaction.rollBackAtEnd()
                return 7
            }
            #expect(value == 7)
            let swallowed = await failure { () async throws(DatabaseError) in
                try await database.transaction { transaction throws(DatabaseError) in
                    _ = try await transaction.run(Self.insert, [.int64(1), .int64(1), .int64(1)])
                    _ = await failure { () async throws(DatabaseError) in
                        try await transaction.run(Self.insert, [.int64(1), .int64(1), .int64(1)])
                    }
                }
            }
            #expect(swallowed == .unavailable(.dependency))
            #expect(try await database.read(Self.count)[0].int64("n") == 0)
        }
    }

    @Test("a rule that is checked at the commit fails the transaction")
    func deferred() async throws {
        try await withTables { database, _ async throws in
            let error = await failure { () async throws(DatabaseError) in
                try await database.transaction { transaction throws(DatabaseError) in
                    _ = try await transaction.run(Self.deferAll)
                    _ = try await transaction.run(Self.insert, [.int64(1), .int64(99), .int64(1)])
                }
            }
            #expect(error == .missingReference(constraint: "children_parent_fkey"))
            #expect(try await database.read(Self.count)[0].int64("n") == 0)
        }
    }

    @Test("a rule that is checked at the implicit commit of a single write fails it")
    func deferredAutocommit() async throws {
        try await withTables { database, scratch async throws in
            try scratch.value(
                "ALTER TABLE children ALTER CONSTRAINT children_parent_fkey DEFERRABLE INITIALLY DEFERRED")
            let error = await failure { () async throws(DatabaseError) in
                try await database.write(Self.insert, [.int64(1), .int64(99), .int64(1)])
            }
            #expect(error == .missingReference(constraint: "children_parent_fkey"))
            #expect(try await database.read(Self.count)[0].int64("n") == 0)
        }
    }

    @Test("a lock that is not given in time ends as busy")
    func lockTimeout() async throws {
        try await withTables(configure: { $0.lockTimeout = .milliseconds(100) }) { database, _ async throws in
            try await database.transaction { transaction throws(DatabaseError) in
                _ = try await transaction.run(Self.touch, [.int64(1)])
                let error = await failure { () async throws(DatabaseError) in
                    try await database.write(Self.touch, [.int64(1)])
                }
                #expect(error == .unavailable(.busy))
            }
            #expect(try await database.write(Self.touch, [.int64(1)]).affected == 1)
        }
    }

    @Test("a deadlock ends as contention for one side and is won by its retry")
    func deadlock() async throws {
        try await withTables(configure: { $0.lockTimeout = .seconds(2) }) { database, scratch async throws in
            try scratch.value("INSERT INTO parents VALUES (2)")
            @Sendable func both(_ first: Int64, _ second: Int64) async -> (error: DatabaseError?, tries: Int) {
                var tries = 0
                let error = await failure { () async throws(DatabaseError) in
                    try await database.retryingContention { () async throws(DatabaseError) in
                        tries += 1
                        try await database.transaction { transaction throws(DatabaseError) in
                            _ = try await transaction.run(Self.touch, [.int64(first)])
                            await database.loop.sleep(for: .milliseconds(100))
                            _ = try await transaction.run(Self.touch, [.int64(second)])
                        }
                    }
                }
                return (error, tries)
            }
            async let one = both(1, 2)
            async let two = both(2, 1)
            let results = await [one, two]
            #expect(results.allSatisfy { $0.error == nil })
            #expect(results.map(\.tries).max() == 2)
        }
    }

    @Test("contention that lasts is given up after three tries, and other errors at once")
    func givesUp() async throws {
        try await withDatabase(ScratchCluster.shared.url()) { database async throws in
            for (error, expected) in [(DatabaseError.unavailable(.contention), 3), (.unavailable(.busy), 1)] {
                var tries = 0
                let last = await failure { () async throws(DatabaseError) in
                    try await database.retryingContention { () async throws(DatabaseError) -> Int in
                        tries += 1
                        throw error
                    }
                }
                #expect(last == error)
                #expect(tries == expected)
            }
        }
    }

    @Test("a write that finds no free connection ends as busy after the pool's wait")
    func exhaustion() async throws {
        try await withTables(configure: { $0.exclusiveConnectionsMax = 1 }) { database, _ async throws in
            try await database.transaction { transaction throws(DatabaseError) in
                _ = try await transaction.run(Self.count)
                let start = ContinuousClock.now
                let error = await failure { () async throws(DatabaseError) in try await database.write(Probe.one) }
                let duration = ContinuousClock.now - start
                #expect(error == .unavailable(.busy))
                #expect(duration >= .milliseconds(990))
                #expect(duration < .milliseconds(2_000))
            }
            #expect(try await database.write(Probe.one).count == 1)
        }
    }

    @Test("writes that wait get the connection in turn")
    func waiting() async throws {
        try await withTables(configure: { $0.exclusiveConnectionsMax = 2 }) { database, _ async throws in
            let errors = await withTaskGroup(of: DatabaseError?.self) { group in
                for id in Int64(1)...40 {
                    group.addTask {
                        await failure { () async throws(DatabaseError) in
                            try await database.write(Self.insert, [.int64(id), .int64(1), .int64(1)])
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(errors.allSatisfy { $0 == nil })
            #expect(try await database.read(Self.count)[0].int64("n") == 40)
        }
    }

    @Test("a read-only session reads and refuses to write")
    func readOnly() async throws {
        try await withTables(configure: { $0.isReadOnly = true }) { database, scratch async throws in
            #expect(try await database.read(Self.count)[0].int64("n") == 0)
            let error = await failure { () async throws(DatabaseError) in
                try await database.write(Self.insert, [.int64(1), .int64(1), .int64(1)])
            }
            #expect(error == .unavailable(.readOnly))
            #expect(await database.ping() == nil)
            #expect(try scratch.value("SELECT count(*) FROM children") == "0")
        }
    }

    @Test("a write over its deadline has an unknown outcome; within a transaction nothing has happened")
    func deadline() async throws {
        try await withTables(configure: { $0.queryDeadline = .milliseconds(300) }) { database, _ async throws in
            let write = await failure { () async throws(DatabaseError) in
                try await database.write(Probe.sleep, [.int64(2_000)])
            }
            #expect(write == .unavailable(.outcomeUnknown))
            let inside = await failure { () async throws(DatabaseError) in
                try await database.transaction { transaction throws(DatabaseError) in
                    try await transaction.run(Probe.sleep, [.int64(2_000)])
                }
            }
            #expect(inside == .unavailable(.busy))
            #expect(try await database.write(Probe.one).count == 1)
        }
    }
}
