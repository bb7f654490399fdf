import AuthStore
import Postgres
import Primitives

/// `clock confirm`: the servers do not follow the database's clock, and it is right.
struct ClockCommand {
    func run(_ reader: SettingsReader, _ environment: ProcessEnvironment) -> Int32 {
        guard let settings = environment.settings(reader, for: .inspecting) else { return 1 }
        let time = environment.using(settings.databaseURL) { database async throws(DatabaseError) in
            try await ClockTable.confirm(in: database)
        }
        guard let time else { return 1 }
        environment.say("confirmed: the servers follow the database's clock, which says \(time.rfc3339)")
        return 0
    }
}
