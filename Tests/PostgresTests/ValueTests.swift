import AuthTesting
import Postgres
import Primitives
import Testing

@Suite("Values and rows")
struct ValueTests {
    private static let uuid = UUID(bytes: Array(0..<16))
    private static let instant = Timestamp(microsecondsSinceEpoch: 1_796_000_000_123_456)

    @Test("every type comes back as it was sent")
    func roundTrip() async throws {
        let everything = Statement(
            "everything",
            """
            SELECT $1::text AS t, $2::bigint AS i, $3::boolean AS b, $4::bytea AS y, $5::uuid AS u,
                $6::timestamptz AS w, $7::text[] AS ta, $8::bytea[] AS ya, $9::bigint[] AS ia, $10::jsonb AS j
            """,
            [.text, .int64, .bool, .bytes, .uuid, .timestamp, .textArray, .bytesArray, .int64Array, .jsonb])
        try await withDatabase(ScratchCluster.shared.url()) { database async throws in
            let row = try await database.read(
                everything,
                [
                    .text("größe ' \" \\ 😀"), .int64(.min), .bool(true), .bytes([0, 255, 39]), .uuid(Self.uuid),
                    .timestamp(Self.instant), .textArray(["a,b", nil, "", "{}\""]), .bytesArray([[0], nil, []]),
                    .int64Array([1, nil, .max]), .jsonb(#"{"a": [1, "x"]}"#),
                ])[0]
            #expect(try row.text("t") == "größe ' \" \\ 😀")
            #expect(try row.int64("i") == .min)
            #expect(try row.bool("b"))
            #expect(try row.bytes("y") == [0, 255, 39])
            #expect(try row.uuid("u") == Self.uuid)
            #expect(try row.timestamp("w") == Self.instant)
            #expect(try row.textArray("ta") == ["a,b", nil, "", "{}\""])
            #expect(try row.bytesArray("ya") == [[0], nil, []])
            #expect(try row.int64Array("ia") == [1, nil, .max])
            #expect(try row.text("j") == #"{"a": [1, "x"]}"#)
        }
    }

    @Test("null comes back as nil from the optional getters and is refused by the others")
    func null() async throws {
        let nulls = Statement(
            "nulls", "SELECT $1::text AS t, $2::uuid AS u, $3::bigint[] AS ia", [.text, .uuid, .int64Array])
        try await withDatabase(ScratchCluster.shared.url()) { database async throws in
            let row = try await database.read(nulls, [.null, .optional(nil, SQLValue.uuid), .null])[0]
            #expect(try row.optionalText("t") == nil)
            #expect(try row.optionalUUID("u") == nil)
            #expect(try row.optionalInt64Array("ia") == nil)
            #expect(try row.isNull("t"))
            #expect(throws: DatabaseError.unavailable(.misconfigured)) { try row.text("t") }
            #expect(throws: DatabaseError.unavailable(.misconfigured)) { try row.uuid("u") }
        }
    }

    @Test("an empty text, empty bytes and empty arrays are not null")
    func empty() async throws {
        let empties = Statement(
            "empties", "SELECT $1::text AS t, $2::bytea AS y, $3::text[] AS ta", [.text, .bytes, .textArray])
        try await withDatabase(ScratchCluster.shared.url()) { database async throws in
            let row = try await database.read(empties, [.text(""), .bytes([]), .textArray([])])[0]
            #expect(try row.text("t") == "")
            #expect(try row.bytes("y") == [])
            #expect(try row.textArray("ta") == [])
        }
    }

    @Test(
        "an instant is what Postgres makes of its RFC 3339 text",
        arguments: [
            (Int64(0), "1970-01-01T00:00:00.000Z"), (946_684_800, "2000-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.000Z"), (4_102_444_800, "2100-01-01T00:00:00.000Z"),
        ])
    func instants(seconds: Int64, text: String) async throws {
        let parse = Statement(
            "parse", "SELECT $1::text::timestamptz AS w, $2::timestamptz = $1::text::timestamptz AS same",
            [.text, .timestamp])
        try await withDatabase(ScratchCluster.shared.url()) { database async throws in
            let instant = Timestamp(secondsSinceEpoch: seconds)
            let row = try await database.read(parse, [.text(text), .timestamp(instant)])[0]
            #expect(try row.timestamp("w") == instant)
            #expect(try row.bool("same"))
        }
    }

    @Test("small integers, varchar and name are read by the getters of their kind")
    func related() async throws {
        let related = Statement(
            "related",
            "SELECT 7::smallint AS s, -7::integer AS i, 'v'::varchar(3) AS v, 'n'::name AS n, '{1,NULL}'::int[] AS ia")
        try await withDatabase(ScratchCluster.shared.url()) { database async throws in
            let row = try await database.read(related)[0]
            #expect(try row.int64("s") == 7)
            #expect(try row.int64("i") == -7)
            #expect(try row.text("v") == "v")
            #expect(try row.text("n") == "n")
            #expect(try row.int64Array("ia") == [1, nil])
        }
    }

    @Test(
        "every instant goes to Postgres and back, and the furthest ones are infinity there",
        arguments: [
            Int64.min, .min + 1, -300_000_000_000_000_000, -211_813_488_000_000_000 + 946_684_800_000_000, -1, 0,
            253_402_300_799_999_999, .max - 1, .max,
        ])
    func instants(number: Int64) async throws {
        let echo = Statement(
            "echo_instant", "SELECT $1 AS at, isfinite($1) AS is_finite, 'infinity'::timestamptz AS never", [.timestamp]
        )
        let instant = Timestamp(microsecondsSinceEpoch: number)
        try await withDatabase(ScratchCluster.shared.url()) { database async throws in
            let row = try await database.read(echo, [.timestamp(instant)])[0]
            let isKept = number >= -211_813_488_000_000_000 + 946_684_800_000_000 && number != .max
            #expect(try row.bool("is_finite") == isKept)
            let furthest = Timestamp(microsecondsSinceEpoch: number < 0 ? .min : .max)
            #expect(try row.timestamp("at") == (isKept ? instant : furthest))
            #expect(try row.timestamp("never").microsecondsSinceEpoch == .max)
        }
    }

    @Test("a column of another type, an unknown column and a time without a zone are refused as misconfigured")
    func mismatches() async throws {
        let odd = Statement(
            "odd",
            "SELECT 'x'::text AS t, 1.5::numeric AS d, now()::timestamp AS naive, '{{1,2}}'::bigint[] AS nested"
        )
        try await withDatabase(ScratchCluster.shared.url()) { database async throws in
            let row = try await database.read(odd)[0]
            let refused = DatabaseError.unavailable(.misconfigured)
            #expect(throws: refused) { try row.int64("t") }
            #expect(throws: refused) { try row.bytes("t") }
            #expect(throws: refused) { try row.textArray("t") }
            #expect(throws: refused) { try row.int64("d") }
            #expect(throws: refused) { try row.timestamp("naive") }
            #expect(throws: refused) { try row.int64Array("nested") }
            #expect(throws: refused) { try row.text("no_such_column") }
        }
    }

    @Test("rows come in the server's order, and a write says how many it touched")
    func counts() async throws {
        let series = Statement(
            "series", "SELECT n FROM generate_series(1::bigint, $1) AS s (n) ORDER BY n DESC", [.int64])
        let make = Statement("make", "CREATE TABLE numbers (n bigint)")
        let fill = Statement("fill", "INSERT INTO numbers (n) SELECT generate_series(1::bigint, $1)", [.int64])
        try await withScratch { database, _ async throws in
            let rows = try await database.read(series, [.int64(3)])
            let numbers = try rows.map { row in try row.int64("n") }
            #expect(numbers == [3, 2, 1])
            #expect(try await database.read(series, [.int64(0)]).isEmpty)
            _ = try await database.write(make)
            #expect(try await database.write(fill, [.int64(5)]).affected == 5)
        }
    }

    @Test("a text with U+0000 is refused by the server as an error of the data")
    func zero() async throws {
        let text = Statement("text", "SELECT $1::text AS t", [.text])
        try await withDatabase(ScratchCluster.shared.url()) { database async throws in
            let error = await failure { () async throws(DatabaseError) in try await database.read(text, [.text("a\0b")])
            }
            #expect(error == .functionFailed(sqlState: "22021"))
        }
    }
}
