package import AuthDomain
package import Primitives

extension MemoryStore: DeviceStore {
    package func devices(of userID: String) async throws(Unavailability) -> [Device] {
        try await call(.devices) { state in
            let own = state.devices.values.filter { $0.userID == userID }.map(\.device)
            let counted = own.filter { $0.status.holdsReason == nil && !$0.hasGivenWay }
            let held = [DeviceStatus.lost, .wipeOrdered, .revoked].flatMap { status in
                let all = own.filter { $0.status == status }.sorted { $0.statusAt < $1.statusAt }
                return status == .revoked
                    ? all.suffix(Limits.heldDevicesListed) : all.prefix(Limits.heldDevicesListed)
            }
            return (counted + held)
                .sorted { ($0.createdAt, $0.id.description) < ($1.createdAt, $1.id.description) }
        }
    }

    package func device(_ id: UUID, of userID: String) async throws(Unavailability) -> Device? {
        try await call(.device) { state in state.row(id, of: userID)?.device }
    }

    package func updateDevice(
        _ id: UUID, of userID: String, name: String?, appVersion: String?
    ) async throws(Unavailability) -> Device? {
        try await call(.updateDevice) { state in
            guard let old = state.row(id, of: userID)?.metadata else { return nil }
            // The old metadata has passed these checks before.
            let changed = try? DeviceMetadata(
                installationID: old.installationID, platform: old.platform.rawValue, name: name ?? old.name,
                model: old.model, osVersion: old.osVersion, appVersion: appVersion ?? old.appVersion)
            if let changed { state.devices[id]?.metadata = changed }
            return state.devices[id]?.device
        }
    }

    package func revokeDevice(
        _ id: UUID, of userID: String, status: DeviceStatus, at now: Timestamp
    ) async throws(Unavailability) -> Bool {
        try await call(.revokeDevice) { state in
            guard state.row(id, of: userID) != nil else { return false }
            state.revoke(id, status: status, at: now)
            return true
        }
    }

    package func loseDevice(
        _ id: UUID, of userID: String, sparing sessionID: String, at now: Timestamp
    ) async throws(Unavailability) -> Bool {
        try await call(.loseDevice) { state in
            guard state.row(id, of: userID) != nil else { return false }
            state.revoke(id, status: .lost, at: now)
            state.endAll(of: userID, reason: .sessionRevoked, sparing: sessionID, at: now)
            return true
        }
    }

    package func clearLostDevice(
        _ id: UUID, of userID: String, devicesMax: Int, at now: Timestamp
    ) async throws(Unavailability) -> Timestamp? {
        try await call(.clearLostDevice) { state in
            guard state.row(id, of: userID)?.status == .lost else { return nil }
            if let until = state.makeRoom(userID, devicesMax: devicesMax, at: now) { return until }
            state.devices[id]?.status = .active
            state.devices[id]?.statusAt = now
            state.devices[id]?.hasGivenWay = false
            return nil
        }
    }

    package func revokeDevices(
        of userID: String, except kept: UUID?, at now: Timestamp
    ) async throws(Unavailability) {
        try await call(.revokeDevices) { state in
            for (id, row) in state.devices where row.userID == userID && id != kept {
                state.revoke(id, status: .revoked, at: now)
            }
        }
    }
}

extension MemoryStore.State {
    fileprivate func row(_ id: UUID, of userID: String) -> MemoryStore.DeviceRow? {
        devices[id].flatMap { $0.userID == userID ? $0 : nil }
    }

    /// The longest unused devices give way where one more would be too many; `nil`: there is room.
    mutating func makeRoom(_ userID: String, devicesMax: Int, at now: Timestamp) -> Timestamp? {
        let counted = devices.values.filter {
            $0.userID == userID && $0.status.holdsReason == nil && !$0.hasGivenWay
        }
        let surplus = counted.count + 1 - devicesMax
        guard surplus > 0 else { return nil }
        let byUse = counted.filter { $0.status == .active }
            .sorted { ($0.lastSeenAt, $0.id.description) < ($1.lastSeenAt, $1.id.description) }
        guard surplus <= byUse.count else { return now + Limits.deviceKept }
        let last = byUse[surplus - 1].lastSeenAt
        guard last <= now - Limits.deviceKept else { return last + Limits.deviceKept }
        for row in byUse.prefix(surplus) {
            devices[row.id]?.hasGivenWay = true
            devices[row.id]?.push = nil
            end(sessionsWhere: { $0.deviceID == row.id }, reason: .superseded, at: now)
        }
        return nil
    }

    /// Also ends the identity sessions tied to the device: when it is active again, they stay out. Nothing is pushed to it.
    mutating func revoke(_ id: UUID, status: DeviceStatus, at now: Timestamp) {
        let found = devices[id]?.status
        guard found?.holdsReason == nil || found == .revoked && status == .lost else { return }
        devices[id]?.status = status
        devices[id]?.statusAt = now
        guard let reason = status.holdsReason else { return }
        devices[id]?.push = nil
        end(sessionsWhere: { $0.deviceID == id }, reason: reason, at: now)
        end(linksWhere: { $0.ties.contains(id) }, reason: reason)
    }
}
