import Testing

@testable import Postgres

@Suite("SQLSTATE table")
struct SQLStateTests {
    @Test(
        "each code gives its decision",
        arguments: [
            ("08001", SQLState.Decision.connectionLost), ("08006", .connectionLost), ("57P01", .connectionLost),
            ("57P02", .connectionLost), ("57P05", .connectionLost), ("25P03", .connectionLost),
            ("08007", .unavailable(.outcomeUnknown)), ("40003", .unavailable(.outcomeUnknown)),
            ("57P03", .unavailable(.starting)), ("25006", .readOnlyHost),
            ("40001", .unavailable(.contention)), ("40P01", .unavailable(.contention)),
            ("55P03", .unavailable(.busy)), ("57014", .unavailable(.busy)),
            ("53100", .unavailable(.exhausted)), ("53200", .unavailable(.exhausted)),
            ("53300", .unavailable(.exhausted)), ("53400", .unavailable(.exhausted)),
            ("23505", .conflict), ("23503", .missingReference), ("23514", .checkFailed), ("23502", .checkFailed),
            ("23P01", .checkFailed), ("0A000", .prepareAgain), ("26000", .prepareAgain),
            ("42P01", .unavailable(.misconfigured)), ("42703", .unavailable(.misconfigured)),
            ("42501", .unavailable(.misconfigured)), ("3F000", .unavailable(.misconfigured)),
            ("3D000", .unavailable(.misconfigured)), ("28000", .unavailable(.misconfigured)),
            ("28P01", .unavailable(.misconfigured)), ("57P04", .unavailable(.misconfigured)),
            ("P0001", .functionFailed), ("P0002", .functionFailed), ("22012", .functionFailed),
            ("22P02", .functionFailed), ("38000", .functionFailed), ("39004", .functionFailed),
            ("2F005", .functionFailed),
        ])
    func decisions(code: String, expected: SQLState.Decision) {
        #expect(SQLState(code).decision == expected)
    }

    @Test("what is not in the table is unavailable", arguments: ["", "XX000", "XX001", "99999", "02000", "58030", "2"])
    func unknown(code: String) {
        #expect(SQLState(code).error(subject: "") == .unavailable(.dependency))
    }

    @Test(
        "a code with nothing left to retry gives the caller's error",
        arguments: [
            ("57P01", DatabaseError.unavailable(.dependency)), ("25006", .unavailable(.readOnly)),
            ("0A000", .unavailable(.misconfigured)), ("26000", .unavailable(.misconfigured)),
            ("23505", .conflict(constraint: "c")), ("23503", .missingReference(constraint: "c")),
            ("23514", .checkFailed(constraint: "c")), ("P0001", .functionFailed(sqlState: "P0001")),
        ])
    func errors(code: String, expected: DatabaseError) {
        #expect(SQLState(code).error(subject: "c") == expected)
    }

    @Test("only the errors of rows and functions are anything but unavailable")
    func refusals() {
        let definite = ["23505", "23503", "23514", "23502", "23P01"]
        for first in "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ" {
            for second in "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ" {
                let code = "\(first)\(second)ZZZ"
                switch SQLState(code).error(subject: "") {
                case .unavailable, .functionFailed: break
                case .conflict, .missingReference, .checkFailed: #expect(definite.contains(code))
                }
            }
        }
    }

    @Test(
        "the reason of a refused connection is read from libpq's message",
        arguments: [
            ("connection to server at \"h\" (127.0.0.1), port 1 failed: FATAL:  57P03\n", Unavailability.starting),
            ("connection to server at \"h\", port 1 failed: FATAL:  28P01\n", .misconfigured),
            ("failed: FATAL:  3D000", .misconfigured), ("failed: FATAL:  53300\n", .exhausted),
            ("failed: FATAL:  57P01\n", .dependency), ("failed: FATAL:  XX000\n", .dependency),
            ("failed: FATAL:  28P012\n", .dependency), ("failed: FATAL: 28P01\n", .dependency),
            ("failed: session is read-only\n", .readOnly), ("failed: server is in hot standby mode\n", .readOnly),
            ("connection to server failed: Connection refused\n", .dependency), ("", .dependency),
        ])
    func connectFailures(message: String, expected: Unavailability) {
        #expect(ConnectFailure(message: message).reason == expected)
    }

    @Test("a failed connection is told in one line with advice, and without the password")
    func sentences() {
        let verbose = """
            connection to server at "h" (127.0.0.1), port 1 failed: FATAL:  28P01: password authentication failed for user "a"
            LOCATION:  auth_failed, auth.c:326
            connection to server at "h" (127.0.0.1), port 1 failed: fe_sendauth: se\u{1}cret said: s3cret

            """
        let fault = ConnectFailure(message: verbose).fault(hiding: ["s3cret", ""])
        #expect(fault.reason == .misconfigured)
        #expect(
            fault.description == """
                connection to server at "h" (127.0.0.1), port 1 failed: FATAL: 28P01: password authentication failed for \
                user "a"; connection to server at "h" (127.0.0.1), port 1 failed: fe_sendauth: secret said: [redacted]: \
                correct the password in the URL, or in the file that it is read from
                """)
        #expect(ConnectFailure(message: "").fault(hiding: []).description == "the connection failed")
        let long = ConnectFailure(message: String(repeating: "x", count: 5_000)).fault(hiding: [])
        #expect(long.description.count == 500)
    }

    @Test("no error shows more than a name or a code")
    func descriptions() {
        #expect(DatabaseError.conflict(constraint: "devices_pkey").description == "conflict on devices_pkey")
        let busy = "database unavailable: busy (it is too slow, or locked by somebody)"
        #expect(DatabaseError.unavailable(.busy).description == busy)
    }
}
