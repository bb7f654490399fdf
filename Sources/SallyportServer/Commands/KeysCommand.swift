import AuthDomain
import AuthStore
import Crypto
import Postgres
import Primitives
import Telemetry

/// `keys list|rotate|promote|retire|compromise|rewrap`: the life of the keys by hand. Contract section 2.5.
struct KeysCommand {
    enum Action: Equatable {
        case list
        case perform(KeyCommand)
        case rewrap
    }

    let action: Action

    func run(_ reader: SettingsReader, _ environment: ProcessEnvironment) -> Int32 {
        guard let settings = environment.settings(reader, for: .inspecting) else { return 1 }
        switch action {
        case .list: return list(settings, environment)
        case .perform(let command): return perform(command, settings, environment)
        case .rewrap: return rewrap(settings, environment)
        }
    }

    private func list(_ settings: Settings, _ environment: ProcessEnvironment) -> Int32 {
        let records = environment.using(settings.databaseURL) { database async throws(DatabaseError) in
            try await KeyLifecycle.records(in: database)
        }
        guard let records else { return 1 }
        for purpose in KeyPurpose.allCases {
            for record in records where record.purpose == purpose {
                environment.say(Self.line(record, settings.keySchedule))
            }
        }
        return 0
    }

    private static func line(_ record: KeyRecord, _ schedule: KeySchedule) -> String {
        let line =
            "\(record.kid)  \(record.purpose.rawValue)  \(record.state.rawValue)  since \(record.stateAt.rfc3339)  "
            + "made \(record.createdAt.rfc3339)"
        return switch record.state {
        case .next: line + "  signs from \(schedule.signsAt(record).rfc3339)"
        case .retired: line + "  kept until \(record.heldUntil.rfc3339)"
        case .current, .removed, .compromised: line
        }
    }

    private func perform(_ command: KeyCommand, _ settings: Settings, _ environment: ProcessEnvironment) -> Int32 {
        guard let sealing = sealing(settings, environment) else { return 1 }
        let found = environment.using(settings.databaseURL) {
            database async throws(DatabaseError) -> (Result<[KeyStep], KeyRefusal>, [KeyRecord])? in
            let clock = try await FollowedClock.read(from: database)
            if clock.isInDoubt, command.restsOnTime { return nil }
            let lifecycle = KeyLifecycle(
                schedule: settings.keySchedule, bits: settings.keyBits, sealing: sealing, clock: clock,
                random: SystemRandom(), logger: .disabled)
            let result = try await lifecycle.perform(command, in: database)
            return (result, try await KeyLifecycle.records(in: database))
        }
        guard let found else { return 1 }
        guard let (result, records) = found else {
            environment.complain(
                "the database's clock is not the one that the servers follow: repair it, or `sallyport clock confirm`")
            return 1
        }
        switch result {
        case .failure(let refusal):
            environment.complain(refusal.description)
            return 1
        case .success(let steps):
            for step in steps { environment.say(Self.line(step, records, settings.keySchedule)) }
            return 0
        }
    }

    private static func line(_ step: KeyStep, _ records: [KeyRecord], _ schedule: KeySchedule) -> String {
        switch step {
        case .make(let purpose, let state):
            guard let made = records.last(where: { $0.purpose == purpose && $0.state == state }) else {
                return "a key was made and has changed since: `sallyport keys list`"
            }
            return switch (state, purpose) {
            case (.next, .access): "\(made.kid) is published and signs from \(schedule.signsAt(made).rfc3339)"
            case (.next, _): "\(made.kid) is made and signs from \(schedule.signsAt(made).rfc3339)"
            case (_, .access): "\(made.kid) is new and signs from now on: verifiers know it once they fetch the key set"
            case (_, .refresh): "\(made.kid) is new and signs from now on"
            case (_, .verdict): "\(made.kid) is new and signs from now on: apps know it with their next token answer"
            }
        case .promote(let kid): return "\(kid) signs from now on"
        case .remove(let kid): return "\(kid) is removed"
        case .compromise(let kid): return "\(kid) is removed as compromised"
        }
    }

    private func rewrap(_ settings: Settings, _ environment: ProcessEnvironment) -> Int32 {
        guard let sealing = sealing(settings, environment) else { return 1 }
        let rewrap = KeyRewrap(sealing: sealing, random: SystemRandom())
        let found = environment.using(settings.databaseURL) { database async throws(DatabaseError) in
            try await rewrap.run(in: database)
        }
        guard let outcome = found else { return 1 }
        environment.say(
            "\(outcome.rewrapped) values sealed anew by key-encryption key \(sealing.sealingKeyID), "
                + "\(outcome.kept) were its own")
        guard outcome.unreadable == 0 else {
            environment.complain(
                "\(outcome.unreadable) values do not open with SALLYPORT_KEK: add the key that sealed them to the list")
            return 1
        }
        return 0
    }

    private func sealing(_ settings: Settings, _ environment: ProcessEnvironment) -> KeyEncryptionKeys? {
        do throws(SettingProblem) {
            return try settings.sealing()
        } catch {
            environment.complain(error.description)
            return nil
        }
    }
}

extension KeysCommand.Action {
    /// `--refresh` means the keys of refresh tokens where no key is named, `--verdict` those of proofs.
    static func parse(_ arguments: inout Arguments) throws(Arguments.Misuse) -> Self {
        let word = try arguments.takeWord("list, rotate, promote, retire, compromise or rewrap")
        let isEmergency = arguments.takeFlag("--emergency")
        let flagged = [KeyPurpose.refresh, .verdict].filter { arguments.takeFlag("--\($0.rawValue)") }
        guard flagged.count < 2 else { throw .unknown("--verdict") }
        let purpose = flagged.first ?? .access
        if isEmergency, word != "promote", word != "retire" { throw .unknown("--emergency") }
        if purpose != .access, word != "rotate", word != "promote" { throw .unknown("--\(purpose.rawValue)") }
        switch word {
        case "list": return .list
        case "rotate": return .perform(.rotate(purpose))
        case "promote": return .perform(.promote(kid: arguments.takeKID(), purpose, isEmergency: isEmergency))
        case "retire", "compromise":
            guard let kid = arguments.takeKID() else { throw .missing("the key's id") }
            return .perform(word == "retire" ? .retire(kid: kid, isEmergency: isEmergency) : .compromise(kid: kid))
        case "rewrap": return .rewrap
        default: throw .unknown(word)
        }
    }
}
