package import AuthDomain
import Postgres
package import Primitives

extension PostgresStore: RevocationStore {
    package func revocations(
        since text: String?, accessLifetime: Duration, at now: Timestamp
    ) async throws(Unavailability) -> RevocationPage {
        try await reading { () async throws(DatabaseError) in
            let cursor = text.flatMap(RevocationCursor.init)
            let read = try await read(cursor, accessLifetime, now)
            // A cursor of another database, or of a future that a restore took back.
            let isUsable = cursor.map {
                $0.database == read.database && ($0.reading ?? $0.seen).map { $0.end <= read.snapshot.end } ?? true
            }
            if isUsable == false || text != nil && cursor == nil {
                return try await self.read(nil, accessLifetime, now).page(after: nil, isReset: true)
            }
            return read.page(after: cursor, isReset: false)
        }
    }

    private struct Read {
        let database: String
        let snapshot: RevocationCursor.Snapshot
        let rows: [(id: Int64, revocation: Revocation)]

        func page(after cursor: RevocationCursor?, isReset: Bool) -> RevocationPage {
            let reading = cursor?.reading ?? snapshot
            let isFull = rows.count == AuthDomain.Limits.revocationsPerPage
            let next =
                isFull
                ? RevocationCursor(
                    database: database, seen: cursor?.seen, reading: reading, lastID: rows.last?.id ?? 0)
                : RevocationCursor(database: database, seen: reading)
            return RevocationPage(cursor: next.text, revocations: rows.map(\.revocation), isReset: isReset)
        }
    }

    private func read(
        _ cursor: RevocationCursor?, _ accessLifetime: Duration, _ now: Timestamp
    ) async throws(DatabaseError) -> Read {
        let forgotten = now - AuthDomain.Limits.revokedTokenKept
        let rows = try await databases.current.main.read(
            cursor?.seen == nil ? Self.allRevocations : Self.newRevocations,
            [
                .optional(cursor?.seen?.text, SQLValue.text), .optional(cursor?.reading?.text, SQLValue.text),
                .int64(cursor?.lastID ?? 0), .timestamp(forgotten), .timestamp(forgotten - accessLifetime),
                .int64(Int64(AuthDomain.Limits.revocationsPerPage)),
            ])
        guard let first = rows.first, let snapshot = RevocationCursor.Snapshot(try first.text("snapshot")) else {
            throw .unavailable(.misconfigured)
        }
        var found: [(id: Int64, revocation: Revocation)] = []
        for row in rows {
            guard let id = try row.optionalInt64("id") else { continue }
            let revokedAt = try row.timestamp("revoked_at")
            let subject: Revocation.Subject =
                if let jti = try row.optionalText("jti") { .token(jti) } else { .session(try row.text("sid")) }
            found.append(
                (
                    id,
                    Revocation(
                        subject: subject, deviceID: try row.optionalUUID("device_id"), reason: try row.text("reason"),
                        revokedAt: revokedAt,
                        expiresAt: try row.optionalTimestamp("expires_at") ?? revokedAt + accessLifetime)
                ))
        }
        return Read(database: try first.text("database"), snapshot: snapshot, rows: found)
    }

    /// One statement: its own snapshot is what the next one begins after. Each has two bounds for what it looks at, so that
    /// the plan goes by the index whatever is known of the values.
    ///
    /// Without a snapshot before: an access token lives an hour at most, and what is older than two is cleared.
    private static let allRevocations = Statement(
        "revocations",
        """
        WITH recent AS MATERIALIZED (
            SELECT id, sid, jti, device_id, reason, revoked_at, expires_at FROM sallyport.revocations
            WHERE revoked_at > $4 - interval '2 hours' AND revoked_at <= 'infinity'
                AND (expires_at > $4 OR expires_at IS NULL AND revoked_at > $5)
                AND ($2 IS NULL OR pg_visible_in_snapshot(xid, $2::pg_snapshot))
        )
        SELECT h.snapshot, h.database, r.id, r.sid, r.jti, r.device_id, r.reason, r.revoked_at, r.expires_at
        FROM (
            SELECT pg_current_snapshot()::text AS snapshot,
                (SELECT system_identifier FROM pg_control_system())::text || '-'
                    || (SELECT timeline_id FROM pg_control_checkpoint())::text AS database
        ) h LEFT JOIN LATERAL (
            SELECT id, sid, jti, device_id, reason, revoked_at, expires_at FROM recent
            WHERE id > $3 ORDER BY id LIMIT $6
        ) r ON true
        """, [.text, .text, .int64, .timestamp, .timestamp, .int64])

    /// After a snapshot: what it did not see has a transaction that it did not know to be over.
    private static let newRevocations = Statement(
        "revocations_after",
        """
        WITH unseen AS MATERIALIZED (
            SELECT id, sid, jti, device_id, reason, revoked_at, expires_at FROM sallyport.revocations
            WHERE xid >= pg_snapshot_xmin($1::pg_snapshot) AND xid < pg_snapshot_xmax(pg_current_snapshot())
                AND NOT pg_visible_in_snapshot(xid, $1::pg_snapshot)
                AND (expires_at > $4 OR expires_at IS NULL AND revoked_at > $5)
                AND ($2 IS NULL OR pg_visible_in_snapshot(xid, $2::pg_snapshot))
        )
        SELECT h.snapshot, h.database, r.id, r.sid, r.jti, r.device_id, r.reason, r.revoked_at, r.expires_at
        FROM (
            SELECT pg_current_snapshot()::text AS snapshot,
                (SELECT system_identifier FROM pg_control_system())::text || '-'
                    || (SELECT timeline_id FROM pg_control_checkpoint())::text AS database
        ) h LEFT JOIN LATERAL (
            SELECT id, sid, jti, device_id, reason, revoked_at, expires_at FROM unseen
            WHERE id > $3 ORDER BY id LIMIT $6
        ) r ON true
        """, [.text, .text, .int64, .timestamp, .timestamp, .int64])
}
