import AuthStore
import Postgres
import Primitives

/// `identity inspect|confirm|dismiss`: how the identity store is laid out, and what to think of a disappearance.
struct IdentityCommand {
    enum Action: String, CaseIterable {
        case inspect, confirm, dismiss
    }

    let action: Action

    func run(_ reader: SettingsReader, _ environment: ProcessEnvironment) -> Int32 {
        guard let settings = environment.settings(reader, for: .inspecting) else { return 1 }
        switch action {
        case .inspect:
            let isPresetGiven = reader.values["SALLYPORT_IDENTITY_PRESET"] != nil
            return inspect(settings, preferred: isPresetGiven ? settings.identityPreset : nil, environment)
        case .confirm: return confirm(settings, environment)
        case .dismiss: return dismiss(settings, environment)
        }
    }

    private func inspect(
        _ settings: Settings, preferred: IdentityMapping.Preset?, _ environment: ProcessEnvironment
    ) -> Int32 {
        var mappings: [IdentityMapping.Preset: IdentityMapping] = [:]
        for preset in IdentityMapping.Preset.allCases {
            var ofPreset = settings
            ofPreset.identityPreset = preset
            do throws(SettingProblem) {
                mappings[preset] = try ofPreset.identityMapping()
            } catch {
                environment.complain(error.description)
                return 1
            }
        }
        guard let fallback = mappings[settings.identityPreset] else { return 1 }
        let all = mappings
        let found = environment.using(settings.identityDatabaseURL ?? settings.databaseURL, isReadOnly: true) {
            database async throws(DatabaseError) in
            try await IdentityInspection.read(from: database, preferring: preferred) { all[$0] ?? fallback }
        }
        guard let found else { return 1 }
        switch found.result {
        case .problems(let preset, let problems):
            environment.complain("the tables fit no preset; \(preset.rawValue) comes closest:")
            for problem in problems { environment.complain(problem.description) }
            return 1
        case .found(let preset):
            environment.say("preset \(preset.rawValue)")
            for line in found.columns { environment.say(line) }
            if let mapping = mappings[preset] { warnOfHiddenRows(mapping, settings, environment) }
            return agrees(preset, preferred, environment)
        }
    }

    private func warnOfHiddenRows(
        _ mapping: IdentityMapping, _ settings: Settings, _ environment: ProcessEnvironment
    ) {
        let tables = environment.using(settings.identityDatabaseURL ?? settings.databaseURL, isReadOnly: true) {
            database async throws(DatabaseError) in
            try await IdentityVisibility.read(mapping, from: database)
        }
        for warning in tables?.compactMap(\.warning) ?? [] { environment.complain("warning: " + warning) }
    }

    /// The same names are one mapping: whether times have a zone is read from the columns.
    private func agrees(
        _ found: IdentityMapping.Preset, _ preferred: IdentityMapping.Preset?, _ environment: ProcessEnvironment
    ) -> Int32 {
        guard let preferred, (preferred == .drizzle) != (found == .drizzle) else { return 0 }
        environment.complain("SALLYPORT_IDENTITY_PRESET: is \(preferred.rawValue), the tables are \(found.rawValue)")
        return 1
    }

    private func confirm(_ settings: Settings, _ environment: ProcessEnvironment) -> Int32 {
        let count = environment.using(settings.databaseURL) { database async throws(DatabaseError) in
            try await DisappearanceRecord.confirm(at: FollowedClock.read(from: database).now(), in: database)
        }
        guard let count else { return 1 }
        environment.say(count.map { "confirmed: \($0) sessions have ended" } ?? Self.nothing)
        return 0
    }

    private func dismiss(_ settings: Settings, _ environment: ProcessEnvironment) -> Int32 {
        let isDismissed = environment.using(settings.databaseURL) { database async throws(DatabaseError) in
            try await DisappearanceRecord.dismiss(at: FollowedClock.read(from: database).now(), in: database)
        }
        guard let isDismissed else { return 1 }
        environment.say(isDismissed ? "dismissed: the servers look again" : Self.nothing)
        return 0
    }

    private static let nothing = "nothing to do: no disappearance is in force"
}
