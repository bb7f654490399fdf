package import Primitives

/// Device rows, always asked for with their owner: another user's device does not exist for the caller.
package protocol DeviceStore: Sendable {
    /// Those that are active or suspended, and of the held ones `Limits.heldDevicesListed` each; not those that gave way.
    func devices(of userID: String) async throws(Unavailability) -> [Device]

    func device(_ id: UUID, of userID: String) async throws(Unavailability) -> Device?

    /// `nil` where there is no such device of the user. A `nil` member is left as it is.
    func updateDevice(
        _ id: UUID, of userID: String, name: String?, appVersion: String?
    ) async throws(Unavailability) -> Device?

    /// Revokes the device, and ends its device sessions and every identity session tied to it, in one transaction;
    /// without effect on one that is held already, but that a revoked one may still be lost. The sessions keep `status.holdsReason` as their end: when the device
    /// is active again, they are still refused (with lock, no longer with wipe).
    ///
    /// - Returns: `false` where there is no such device of the user.
    func revokeDevice(
        _ id: UUID, of userID: String, status: DeviceStatus, at now: Timestamp
    ) async throws(Unavailability) -> Bool

    /// As `revokeDevice` with `.lost`, and with it ends and marks the user's sessions as `endAllSessions` does, but one
    /// identity session and what rests on it. All of it in one transaction.
    ///
    /// - Returns: `false` where there is no such device of the user, and then nothing has changed.
    func loseDevice(
        _ id: UUID, of userID: String, sparing sessionID: String, at now: Timestamp
    ) async throws(Unavailability) -> Bool

    /// Makes a lost device active, where others of the user make room if need be; without effect on one in another state.
    ///
    /// - Returns: `nil`, or when there may be room for it; then nothing has changed.
    func clearLostDevice(
        _ id: UUID, of userID: String, devicesMax: Int, at now: Timestamp
    ) async throws(Unavailability) -> Timestamp?

    /// Revokes every device of the user but one, each as `revokeDevice` does; also those that gave way.
    func revokeDevices(
        of userID: String, except kept: UUID?, at now: Timestamp
    ) async throws(Unavailability)
}
