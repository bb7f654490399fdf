import AuthDomain
import AuthStore
import Postgres
import Primitives

/// `devices list|revoke|wipe|suspend|resume`: what an operator does with a user's devices.
struct DevicesCommand {
    enum Action {
        case list(userID: String?)
        case order(Order, UUID)
    }

    enum Order: String, CaseIterable {
        case revoke, wipe, suspend, resume
    }

    let action: Action

    func run(_ reader: SettingsReader, _ environment: ProcessEnvironment) -> Int32 {
        guard let settings = environment.settings(reader, for: .inspecting) else { return 1 }
        switch action {
        case .list(let userID): return list(userID, settings, environment)
        case .order(let order, let id): return carryOut(order, id, settings, environment)
        }
    }

    private func list(_ userID: String?, _ settings: Settings, _ environment: ProcessEnvironment) -> Int32 {
        let entries = environment.using(settings.databaseURL) { database async throws(DatabaseError) in
            try await DeviceRoster.list(of: userID, limit: Limits.devicesListedMax, in: database)
        }
        guard let entries else { return 1 }
        for entry in entries { environment.say(Self.line(entry)) }
        if entries.isEmpty { environment.complain("there is none") }
        if entries.count == Limits.devicesListedMax { environment.complain("there are more: name a user") }
        return 0
    }

    private func carryOut(
        _ order: Order, _ id: UUID, _ settings: Settings, _ environment: ProcessEnvironment
    ) -> Int32 {
        let isDone = environment.using(settings.databaseURL) { database async throws(DatabaseError) in
            let now = try await FollowedClock.read(from: database).now()
            return switch order {
            case .revoke: try await DeviceRoster.hold(id, as: .deviceRevoked, at: now, in: database)
            case .wipe: try await DeviceRoster.hold(id, as: .wipeOrdered, at: now, in: database)
            case .suspend: try await DeviceRoster.setSuspended(id, true, at: now, in: database)
            case .resume: try await DeviceRoster.setSuspended(id, false, at: now, in: database)
            }
        }
        guard let isDone else { return 1 }
        guard isDone else {
            environment.complain(Self.refusal(order, id))
            return 1
        }
        environment.say("\(order.rawValue): done for \(id)")
        return 0
    }

    private static func refusal(_ order: Order, _ id: UUID) -> String {
        switch order {
        case .revoke, .wipe: "there is no device \(id)"
        case .suspend: "there is no active device \(id)"
        case .resume: "there is no suspended device \(id)"
        }
    }

    private static func line(_ entry: DeviceRoster.Entry) -> String {
        "\(entry.id)  user \(entry.userID)  \(entry.status)  \(entry.platform)  installation \(entry.installationID)  "
            + "seen \(entry.lastSeenAt.rfc3339)" + (entry.name.map { "  \($0)" } ?? "")
    }
}
