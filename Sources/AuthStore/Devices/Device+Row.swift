import AuthDomain
import Postgres
import Primitives

extension Device {
    init(row: Row) throws(DatabaseError) {
        self.init(
            id: try row.uuid("id"), userID: try row.text("user_id"), metadata: try DeviceMetadata(row: row),
            status: try DeviceStatus(stored: row.text("status")), statusAt: try row.timestamp("status_at"),
            createdAt: try row.timestamp("created_at"), lastSeenAt: try row.timestamp("last_seen_at"),
            lastSyncAt: try row.optionalTimestamp("last_sync_at"),
            isPushRegistered: try row.bool("is_push_registered"), hasGivenWay: try row.bool("has_given_way"))
    }
}

extension DeviceMetadata {
    fileprivate init(row: Row) throws(DatabaseError) {
        let texts = (
            installation: try row.text("installation_id"), platform: try row.text("platform"),
            name: try row.optionalText("name"), model: try row.optionalText("model"),
            osVersion: try row.optionalText("os_version"), appVersion: try row.optionalText("app_version")
        )
        do throws(RequestFault) {
            try self.init(
                installationID: texts.installation, platform: texts.platform, name: texts.name, model: texts.model,
                osVersion: texts.osVersion, appVersion: texts.appVersion)
        } catch {
            throw .unavailable(.misconfigured)
        }
    }
}
