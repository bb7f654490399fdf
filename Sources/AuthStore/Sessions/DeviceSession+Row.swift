import AuthDomain
import Postgres
import Primitives

extension DeviceSession {
    init(row: Row) throws(DatabaseError) {
        let generation = try row.int64("generation")
        // The rules count from it in both directions.
        guard generation > 0, generation < .max else { throw .unavailable(.misconfigured) }
        let end = try row.optionalText("end_reason")
        self.init(
            id: try row.uuid("id"), userID: try row.text("user_id"), deviceID: try row.uuid("device_id"),
            deviceStatus: try DeviceStatus(stored: row.text("device_status")), clientID: try row.text("client_id"),
            scopes: ScopeSet(try row.text("scope").split(separator: " ").map(String.init)),
            identitySessionID: try row.text("identity_session_id"), authTime: try row.timestamp("auth_time"),
            amr: try row.textArray("amr").compactMap { $0 },
            wasVerified: try row.optionalBool("was_verified"), createdAt: try row.timestamp("created_at"),
            rotation: RotationState(
                generation: generation, rotatedAt: try row.timestamp("rotated_at"),
                rotationKeys: try row.bytesArray("rotation_keys"), hasSeenKey: try row.bool("has_seen_key"),
                expiresAt: try row.timestamp("expires_at"),
                end: end == nil ? nil : try RefusalReason(stored: end ?? "")),
            current: IssuedRefresh(
                generation: generation, kid: try row.text("refresh_kid"), issuedAt: try row.timestamp("issued_at"),
                expiresAt: try row.timestamp("token_expires_at")),
            sealedSecret: try row.bytes("sealed_secret"))
    }
}

extension SessionLink {
    init(row: Row) throws(DatabaseError) {
        let devices = try row.textArray("tied_devices")
        let statuses = try row.textArray("tied_statuses")
        var ties: [Tie] = []
        for (device, status) in zip(devices, statuses) {
            guard let id = device.flatMap({ UUID($0) }) else { throw .unavailable(.misconfigured) }
            ties.append(Tie(deviceID: id, status: try DeviceStatus(stored: status ?? "")))
        }
        let end = try row.optionalText("end_reason")
        self.init(
            sessionID: try row.text("id"), userID: try row.text("user_id"),
            firstSeenAt: try row.timestamp("first_seen_at"), expiresAt: try row.timestamp("expires_at"),
            deviceID: try row.optionalUUID("device_id"), end: end == nil ? nil : try RefusalReason(stored: end ?? ""),
            ties: ties)
    }
}

/// Words of a closed list, as the schema's checks hold them. One that we do not know was written by a newer server:
/// could not find out.
extension RawRepresentable where RawValue == String {
    init(stored word: String) throws(DatabaseError) {
        guard let value = Self(rawValue: word) else { throw .unavailable(.misconfigured) }
        self = value
    }
}
