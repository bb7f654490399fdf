package import AuthDomain
import Primitives

extension MemoryStore {
    package func register(_ registration: Registration) async throws(Unavailability) -> RegistrationOutcome {
        try await call(.register) { state in
            guard state.isAsDecided(registration) else { return .changed }
            if let devicesMax = registration.devicesMax,
                let until = state.makeRoom(
                    registration.seen.session.userID, devicesMax: devicesMax, at: registration.seen.seenAt)
            {
                return .full(until: until)
            }
            state.write(registration)
            if let new = registration.deviceSession { state.start(new, registration) }
            return .registered
        }
    }
}

extension MemoryStore.State {
    /// The device has the id and the state that were decided on, and the session has not been signed out meanwhile.
    fileprivate func isAsDecided(_ registration: Registration) -> Bool {
        let seen = registration.seen
        let link = links[seen.tokenHash]
        guard link?.end == nil, !isMarked(seen.session) else { return false }
        let row = devices.values.first { row in
            row.userID == seen.session.userID
                && row.metadata.installationID == registration.metadata.installationID
        }
        guard let row else { return devices[registration.deviceID] == nil && !registration.reactivates }
        let admission = row.device.admission(of: seen.session, firstSeenAt: link?.firstSeenAt)
        if row.hasGivenWay && registration.devicesMax == nil { return false }
        return row.id == registration.deviceID && admission == (registration.reactivates ? .reactivates : .asIs)
    }

    fileprivate mutating func write(_ registration: Registration) {
        let (seen, metadata) = (registration.seen, registration.metadata)
        let userID = seen.session.userID
        var row =
            devices[registration.deviceID]
            ?? MemoryStore.DeviceRow(
                id: registration.deviceID, userID: userID, metadata: metadata, statusAt: seen.seenAt,
                createdAt: seen.seenAt, lastSeenAt: seen.seenAt)
        row.metadata = metadata.filled(from: row.metadata)
        row.lastSeenAt = seen.seenAt
        row.hasGivenWay = false
        if registration.reactivates {
            row.status = .active
            row.statusAt = seen.seenAt
        }
        // The installation is in another user's hands: what is pushed to the old one must not show here.
        for (id, other) in devices
        where other.userID != userID && other.metadata.installationID == metadata.installationID {
            devices[id]?.push = nil
        }
        if let push = registration.push {
            // A push token is one over all users.
            for (id, other) in devices where other.push?.token.exposed == push.token.exposed {
                devices[id]?.push = nil
            }
            row.push = push
        }
        devices[row.id] = row
        remember(seen, deviceID: registration.deviceSession == nil ? row.id : nil)
        if links[seen.tokenHash]?.ties.contains(row.id) == false { links[seen.tokenHash]?.ties.append(row.id) }
    }

    fileprivate mutating func start(_ new: DeviceSessionStart, _ registration: Registration) {
        let now = registration.seen.seenAt
        let live = sessions.values
            .filter { $0.deviceID == registration.deviceID && $0.isLive(at: now) }
            .sorted { ($0.rotatedAt, $0.new.id.description) < ($1.rotatedAt, $1.new.id.description) }
        let surplus = Set(live.prefix(max(0, live.count + 1 - Limits.liveSessionsPerDevice)).map(\.new.id))
        end(sessionsWhere: { surplus.contains($0.new.id) }, reason: .superseded, at: now)
        sessions[new.id] = MemoryStore.SessionRow(
            new: new, userID: registration.seen.session.userID, deviceID: registration.deviceID,
            identitySessionID: registration.seen.session.id, createdAt: now, issued: new.issued, rotatedAt: now,
            wasVerified: new.isVerified)
    }

    /// - Parameter deviceID: what `GET /auth/token` is bound to from now on; `nil` leaves it.
    mutating func remember(_ seen: SeenSession, deviceID: UUID?) {
        for (hash, link) in links where link.sessionID == seen.session.id && link.userID != seen.session.userID {
            links[hash] = nil
            end(sessionsWhere: { $0.identitySessionID == link.sessionID }, reason: .sessionRevoked, at: seen.seenAt)
        }
        var link =
            links[seen.tokenHash]
            ?? MemoryStore.Link(
                sessionID: seen.session.id, userID: seen.session.userID, accessSID: seen.accessSID,
                firstSeenAt: seen.seenAt, expiresAt: seen.session.expiresAt)
        link.expiresAt = seen.session.expiresAt
        link.doubt = nil
        link.deviceID = deviceID ?? link.deviceID
        links[seen.tokenHash] = link
    }
}

extension DeviceMetadata {
    /// What a sign-in does not tell stays as it was.
    fileprivate func filled(from old: DeviceMetadata) -> DeviceMetadata {
        // All of it has passed these checks before.
        let filled = try? DeviceMetadata(
            installationID: installationID, platform: platform.rawValue, name: name ?? old.name,
            model: model ?? old.model, osVersion: osVersion ?? old.osVersion, appVersion: appVersion ?? old.appVersion)
        return filled ?? self
    }
}
