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
            Self.revocations,
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

    /// One statement: its own snapshot is what the next one begins after.
    private static let revocations = Statement(
        "revocations",
        """
        SELECT h.snapshot, h.database, r.id, r.sid, r.jti, r.device_id, r.reason, r.revoked_at, r.expires_at
        FROM (
            SELECT pg_current_snapshot()::text AS snapshot,
                (SELECT system_identifier FROM pg_control_system())::text || '-'
                    || (SELECT timeline_id FROM pg_control_checkpoint())::text AS database
        ) h LEFT JOIN LATERAL (
            SELECT id, sid, jti, device_id, reason, revoked_at, expires_at FROM sallyport.revocations
            WHERE id > $3 AND (expires_at > $4 OR expires_at IS NULL AND revoked_at > $5)
                AND ($1 IS NULL OR NOT pg_visible_in_snapshot(xid, $1::pg_snapshot))
                AND ($2 IS NULL OR pg_visible_in_snapshot(xid, $2::pg_snapshot))
            ORDER BY id LIMIT $6
        ) r ON true
        """, [.text, .text, .int64, .timestamp, .timestamp, .int64])
}
