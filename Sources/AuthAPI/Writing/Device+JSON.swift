import AuthDomain
import JSON
import Primitives

extension Device {
    /// Contract section 6. Instants are seconds since 1970; what is not known is `null`.
    func json(for caller: Caller) -> JSONObject {
        [
            "id": .string(id.description),
            "installation_id": .string(metadata.installationID),
            "platform": .string(metadata.platform.rawValue),
            "name": .text(metadata.name),
            "model": .text(metadata.model),
            "os_version": .text(metadata.osVersion),
            "app_version": .text(metadata.appVersion),
            "status": .string(status.rawValue),
            "created_at": .integer(createdAt.secondsSinceEpoch),
            "last_seen_at": .integer(lastSeenAt.secondsSinceEpoch),
            "last_sync_at": lastSyncAt.map { .integer($0.secondsSinceEpoch) } ?? .null,
            "push_registered": .bool(isPushRegistered),
            "current": .bool(id == caller.deviceID),
        ]
    }
}

extension DeviceSession {
    /// How long this session's app may go on without us: counted from its last refresh.
    func offline(_ policy: AuthPolicy) -> OfflinePolicy {
        OfflinePolicy(
            refreshExpiresAt: current.expiresAt, refreshedAt: rotation.rotatedAt, write: policy.offlineWrite)
    }
}

extension JSONValue {
    static func text(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }
}
