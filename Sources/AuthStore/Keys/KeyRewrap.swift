package import Crypto
package import Postgres
package import Primitives

/// Seals anew what an older key-encryption key has sealed: after that the older one can be dropped.
///
/// Batch by batch beside running servers; a row that changes meanwhile is left for another run.
package struct KeyRewrap: Sendable {
    /// What a run has found.
    package struct Outcome: Equatable, Sendable {
        /// Values that the first key has sealed anew.
        package var rewrapped = 0
        /// Values that were the first key's already.
        package var kept = 0
        /// Values that no key given opens; they stay as they are.
        package var unreadable = 0

        package init() {}
    }

    private let sealing: KeyEncryptionKeys
    private let random: any RandomSource

    package init(sealing: KeyEncryptionKeys, random: any RandomSource) {
        self.sealing = sealing
        self.random = random
    }

    package func run(in database: Database) async throws(DatabaseError) -> Outcome {
        var outcome = Outcome()
        for column in Self.columns {
            var last = column.first
            while true {
                let rows = try await database.read(column.list, [.text(last), .int64(Int64(Limits.rewrapBatch))])
                var changes = Changes()
                for row in rows {
                    last = try row.text("name")
                    try take(last, try row.bytes("sealed"), column, &outcome, &changes)
                }
                try await write(changes, column, in: database)
                if rows.count < Limits.rewrapBatch { break }
            }
        }
        return outcome
    }

    private struct Changes {
        var names: [String] = []
        var before: [[UInt8]] = []
        var anew: [[UInt8]] = []
    }

    private func take(
        _ name: String, _ sealed: [UInt8], _ column: Column, _ outcome: inout Outcome, _ changes: inout Changes
    ) throws(DatabaseError) {
        let context = column.context + name
        guard let opened = try? sealing.open(sealed, context: context) else {
            outcome.unreadable += 1
            return
        }
        guard sealing.needsResealing(sealed) else {
            outcome.kept += 1
            return
        }
        guard let anew = try? sealing.seal(opened.exposed, context: context, random: random) else {
            throw .unavailable(.exhausted)
        }
        outcome.rewrapped += 1
        changes.names.append(name)
        changes.before.append(sealed)
        changes.anew.append(anew)
    }

    private func write(_ changes: Changes, _ column: Column, in database: Database) async throws(DatabaseError) {
        guard !changes.names.isEmpty else { return }
        _ = try await database.retryingContention { () async throws(DatabaseError) in
            try await database.write(
                column.update,
                [.textArray(changes.names), .bytesArray(changes.before), .bytesArray(changes.anew)])
        }
    }

    /// Where sealed values lie. Names are compared by their bytes, so that each step begins where the last one ended.
    private struct Column: Sendable {
        /// Before the name in the context that the value was sealed with.
        let context: String
        /// Before the first name.
        let first: String
        let list: Statement
        let update: Statement
    }

    private static let noUUID = "00000000-0000-0000-0000-000000000000"

    private static let columns = [
        Column(
            context: KeyTable.context(ofKey: ""), first: "",
            list: Statement(
                "list_sealed_keys",
                """
                SELECT kid AS name, sealed_private_key AS sealed FROM sallyport.keys
                WHERE sealed_private_key IS NOT NULL AND kid COLLATE "C" > $1 ORDER BY kid COLLATE "C" LIMIT $2
                """, [.text, .int64]),
            update: Statement(
                "rewrap_key",
                """
                UPDATE sallyport.keys t SET sealed_private_key = n.anew
                FROM unnest($1, $2, $3) AS n (name, before, anew) WHERE t.kid = n.name AND t.sealed_private_key = n.before
                """, [.textArray, .bytesArray, .bytesArray])),
        Column(
            context: KeyTable.context(ofSecret: ""), first: "",
            list: Statement(
                "list_sealed_secrets",
                """
                SELECT name, sealed_value AS sealed FROM sallyport.secrets
                WHERE name COLLATE "C" > $1 ORDER BY name COLLATE "C" LIMIT $2
                """, [.text, .int64]),
            update: Statement(
                "rewrap_secret",
                """
                UPDATE sallyport.secrets t SET sealed_value = n.anew
                FROM unnest($1, $2, $3) AS n (name, before, anew) WHERE t.name = n.name AND t.sealed_value = n.before
                """, [.textArray, .bytesArray, .bytesArray])),
        Column(
            context: "device-session:", first: noUUID,
            list: Statement(
                "list_sealed_sessions",
                """
                SELECT id::text AS name, sealed_secret AS sealed FROM sallyport.device_sessions
                WHERE id > $1::uuid ORDER BY id LIMIT $2
                """, [.text, .int64]),
            update: Statement(
                "rewrap_session",
                """
                UPDATE sallyport.device_sessions t SET sealed_secret = n.anew
                FROM unnest($1, $2, $3) AS n (name, before, anew) WHERE t.id = n.name::uuid AND t.sealed_secret = n.before
                """, [.textArray, .bytesArray, .bytesArray])),
        Column(
            context: "push-token:", first: noUUID,
            list: Statement(
                "list_sealed_push_tokens",
                """
                SELECT id::text AS name, sealed_push_token AS sealed FROM sallyport.devices
                WHERE sealed_push_token IS NOT NULL AND id > $1::uuid ORDER BY id LIMIT $2
                """, [.text, .int64]),
            update: Statement(
                "rewrap_push_token",
                """
                UPDATE sallyport.devices t SET sealed_push_token = n.anew
                FROM unnest($1, $2, $3) AS n (name, before, anew) WHERE t.id = n.name::uuid AND t.sealed_push_token = n.before
                """, [.textArray, .bytesArray, .bytesArray])),
    ]
}
