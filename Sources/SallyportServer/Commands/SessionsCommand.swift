import AuthStore
import Postgres
import Primitives

/// `sessions list|end`: the live device sessions, and their end by an operator.
struct SessionsCommand {
    enum Action {
        case list(userID: String?)
        case end(UUID)
        case endAll(userID: String)
    }

    let action: Action

    func run(_ reader: SettingsReader, _ environment: ProcessEnvironment) -> Int32 {
        guard let settings = environment.settings(reader, for: .inspecting) else { return 1 }
        switch action {
        case .list(let userID):
            let entries = environment.using(settings.databaseURL) { database async throws(DatabaseError) in
                let now = try await FollowedClock.read(from: database).now()
                return try await SessionRoster.live(of: userID, limit: Limits.sessionsListedMax, at: now, in: database)
            }
            guard let entries else { return 1 }
            for entry in entries { environment.say(Self.line(entry)) }
            if entries.isEmpty { environment.complain("there is none") }
            if entries.count == Limits.sessionsListedMax { environment.complain("there are more: name a user") }
            return 0
        case .end(let id):
            let hasEnded = environment.using(settings.databaseURL) { database async throws(DatabaseError) in
                let now = try await FollowedClock.read(from: database).now()
                return try await SessionRoster.end(id, at: now, in: database)
            }
            guard let hasEnded else { return 1 }
            guard hasEnded else {
                environment.complain("there is no live device session \(id)")
                return 1
            }
            environment.say("ended \(id)")
            return 0
        case .endAll(let userID):
            let count = environment.using(settings.databaseURL) { database async throws(DatabaseError) in
                let now = try await FollowedClock.read(from: database).now()
                return try await SessionRoster.endAll(of: userID, at: now, in: database)
            }
            guard let count else { return 1 }
            environment.say("ended \(count)")
            return 0
        }
    }

    private static func line(_ entry: SessionRoster.Entry) -> String {
        "\(entry.id)  user \(entry.userID)  device \(entry.deviceID)  since \(entry.createdAt.rfc3339)  "
            + "refreshed \(entry.refreshedAt.rfc3339)  until \(entry.expiresAt.rfc3339)"
    }
}
