import AuthStore
import Primitives

/// What the executable can do, by its first argument.
package enum Command: String, CaseIterable {
    case serve, dev, migrate, keys, devices, sessions, identity, clock, token, doctor, config, version, help

    /// Runs the command named by the arguments and returns the exit status: 0 done, 1 failed, 2 misused.
    package static func run(_ environment: ProcessEnvironment) -> Int32 {
        var arguments = Arguments(environment.arguments)
        guard let name = arguments.takeCommand() else {
            environment.complain(usage)
            return 2
        }
        guard let command = Command(rawValue: name) else {
            environment.complain("there is no command \(name)\n\(usage)")
            return 2
        }
        if arguments.takeFlag("--help") || arguments.takeFlag("-h") {
            environment.say(command.usage)
            return 0
        }
        do throws(Arguments.Misuse) {
            return try command.run(&arguments, environment)
        } catch {
            environment.complain("\(error)\n\(command.usage)")
            return 2
        }
    }

    private func run(
        _ arguments: inout Arguments, _ environment: ProcessEnvironment
    ) throws(Arguments.Misuse) -> Int32 {
        switch self {
        case .serve:
            let isTarget = arguments.takeFlag("--test-target")
            let reader = try settingsReader(&arguments, environment)
            return ServeCommand(kind: isTarget ? .test : .production).run(reader, environment)
        case .dev:
            try arguments.end()
            return DevCommand().run(environment)
        case .migrate:
            let command = MigrateCommand(
                showsStatus: arguments.takeFlag("--status"), isStandalone: arguments.takeFlag("--standalone"))
            return command.run(try settingsReader(&arguments, environment), environment)
        case .keys:
            let action = try KeysCommand.Action.parse(&arguments)
            return KeysCommand(action: action).run(try settingsReader(&arguments, environment), environment)
        case .devices:
            let action = try Self.devicesAction(&arguments)
            return DevicesCommand(action: action).run(try settingsReader(&arguments, environment), environment)
        case .sessions:
            let action = try Self.sessionsAction(&arguments)
            return SessionsCommand(action: action).run(try settingsReader(&arguments, environment), environment)
        case .identity:
            let word = try arguments.takeWord("inspect, confirm or dismiss")
            guard let action = IdentityCommand.Action(rawValue: word) else { throw .unknown(word) }
            return IdentityCommand(action: action).run(try settingsReader(&arguments, environment), environment)
        case .clock:
            let word = try arguments.takeWord("confirm")
            guard word == "confirm" else { throw .unknown(word) }
            return ClockCommand().run(try settingsReader(&arguments, environment), environment)
        case .token:
            let file = try arguments.takeOption("--config")
            let command = try Self.tokenCommand(&arguments)
            return command.run(try settingsReader(file, environment), environment)
        case .doctor:
            let command = DoctorCommand(
                powerSync: try arguments.takeOption("--powersync"),
                powerSyncConfig: try arguments.takeOption("--powersync-config"),
                message: try arguments.takeOption("--error"))
            return command.run(try settingsReader(&arguments, environment), environment)
        case .config:
            let isTemplate = arguments.takeFlag("--template")
            return ConfigCommand(isTemplate: isTemplate).run(try settingsReader(&arguments, environment), environment)
        case .version:
            try arguments.end()
            environment.say("sallyport \(Version.text)")
            return 0
        case .help:
            let word = arguments.takeOptionalWord() ?? rawValue
            try arguments.end()
            guard let command = Command(rawValue: word) else { throw .unknown(word) }
            environment.say(command.usage)
            return 0
        }
    }

    private static func sessionsAction(
        _ arguments: inout Arguments
    ) throws(Arguments.Misuse) -> SessionsCommand.Action {
        let word = try arguments.takeWord("list or end")
        let userID = try arguments.takeOption("--user")
        switch (word, userID) {
        case ("list", _): return .list(userID: userID)
        case ("end", .some(let userID)): return .endAll(userID: userID)
        case ("end", nil):
            return .end(
                try arguments.takeID("a device session's id as `sallyport sessions list` shows it, or --user ID"))
        default: throw .unknown(word)
        }
    }

    private static func devicesAction(
        _ arguments: inout Arguments
    ) throws(Arguments.Misuse) -> DevicesCommand.Action {
        let word = try arguments.takeWord("list, revoke, wipe, suspend or resume")
        if word == "list" { return .list(userID: try arguments.takeOption("--user")) }
        guard let order = DevicesCommand.Order(rawValue: word) else { throw .unknown(word) }
        return .order(order, try arguments.takeID("a device's id as `sallyport devices list` shows it"))
    }

    private static func tokenCommand(_ arguments: inout Arguments) throws(Arguments.Misuse) -> TokenCommand {
        let word = try arguments.takeWord("inspect")
        guard word == "inspect" else { throw .missing("inspect") }
        let keySet = try arguments.takeOption("--jwks")
        let issuer = try arguments.takeOption("--issuer")
        let audience = try arguments.takeOption("--audience")
        let token = arguments.takeOptionalWord()
        // What is left may be a token as well: it is not repeated.
        guard (try? arguments.end()) != nil else { throw .missing("one token at most, and no other option") }
        return TokenCommand(token: token, keySet: keySet, issuer: issuer, audience: audience)
    }

    private func settingsReader(
        _ arguments: inout Arguments, _ environment: ProcessEnvironment
    ) throws(Arguments.Misuse) -> SettingsReader {
        let path = try arguments.takeOption("--config")
        try arguments.end()
        return try settingsReader(path, environment)
    }

    /// - Parameter path: of the file of settings.
    private func settingsReader(
        _ path: String?, _ environment: ProcessEnvironment
    ) throws(Arguments.Misuse) -> SettingsReader {
        var file: String?
        if let path {
            guard let text = ProcessEnvironment.file(path) else { throw .unreadable(path) }
            file = text
        }
        return SettingsReader(
            environment: environment.variables, file: file, readFile: ProcessEnvironment.file)
    }

    /// The lines of this command alone, after the mistake that they follow; all of them for `help`.
    var usage: String {
        var lines: [Substring] = []
        var isOwn = false
        for line in Self.usage.split(separator: "\n").dropFirst() {
            if !line.hasPrefix("   ") { isOwn = line.split(separator: " ").first.map { $0 == rawValue } ?? false }
            if isOwn { lines.append(line) }
        }
        return self == .help ? Self.usage : "usage: sallyport COMMAND\n" + lines.joined(separator: "\n")
    }

    static let usage = """
        usage: sallyport COMMAND
          serve [--test-target]                   serve; as a target of integration tests, with a clock to move
          dev                                     a server with a PostgreSQL and a demo session of its own
          migrate [--status] [--standalone]       bring the database to this version, or say how it stands;
                                                  with tables for users too, where no Better Auth application has any
          keys list                               the keys, their states and times
          keys rotate [--refresh|--verdict]       publish a next key; it signs by itself when its lead is over
          keys promote [KID] [--refresh|--verdict] [--emergency]
                                                  let a next key sign now; an emergency undercuts the lead
          keys retire KID [--emergency]           end the hold of a retired key, or withdraw a next one
          keys compromise KID                     remove a key at once; another one signs
          keys rewrap                             seal everything anew by the first key of SALLYPORT_KEK
          devices list [--user ID] | revoke ID | wipe ID | suspend ID | resume ID
                                                  the users' devices, and orders for one of them
          sessions list [--user ID] | end SID | end --user ID
                                                  the live device sessions, or their end
          identity inspect                        the preset of the identity tables, or what is missing
          identity confirm | dismiss              the linked sessions that vanished have really ended, or have not
          clock confirm                           the database's clock is right, though the servers doubt it
          token inspect [TOKEN] [--jwks FILE|URL] [--issuer URL] [--audience NAME]
                                                  what a token (on stdin without TOKEN) says, and why it is refused
          doctor [--powersync URL] [--powersync-config FILE] [--error MESSAGE]
                                                  what is wrong with the deployment, and whether PowerSync takes its tokens
          config [--template]                     the settings in force, without secrets, or a file to start from
          version                                 the version
          help [COMMAND]                          all of this, or one command

        Settings are SALLYPORT_* variables. Every command that reads any takes --config FILE too: lines NAME=value, of
        which a variable of the same name takes the place.
        """
}

/// Arguments, taken one by one.
struct Arguments {
    enum Misuse: Error, CustomStringConvertible {
        case unknown(String)
        case noValue(String)
        case missing(String)
        case unreadable(String)

        var description: String {
            switch self {
            case .unknown(let text): "unknown argument \(text)"
            case .noValue(let option): "\(option) needs a value"
            case .missing(let what): "expected: \(what)"
            case .unreadable(let path): "\(path) cannot be read"
            }
        }
    }

    private var rest: [String]

    init(_ arguments: [String]) { rest = arguments }

    mutating func takeCommand() -> String? {
        guard let first = rest.first else { return nil }
        rest.removeFirst()
        return first == "--help" || first == "-h" ? "help" : first == "--version" ? "version" : first
    }

    /// The next argument that is no option.
    mutating func takeWord(_ expected: String) throws(Misuse) -> String {
        guard let first = rest.first, !first.hasPrefix("-") else { throw .missing(expected) }
        rest.removeFirst()
        return first
    }

    /// The next argument, a UUID.
    mutating func takeID(_ expected: String) throws(Misuse) -> UUID {
        guard let id = UUID(try takeWord(expected)) else { throw .missing(expected) }
        return id
    }

    /// The id of a key. One in sixty-four begins with a hyphen, so that its length tells it from an option.
    mutating func takeKID() -> String? {
        guard let first = rest.first, !first.hasPrefix("-") || first.utf8.count == 43 else { return nil }
        return rest.removeFirst()
    }

    /// The next argument, if it is no option but for `-`.
    mutating func takeOptionalWord() -> String? {
        guard let first = rest.first, first == "-" || !first.hasPrefix("-") else { return nil }
        rest.removeFirst()
        return first
    }

    mutating func takeFlag(_ flag: String) -> Bool {
        guard let index = rest.firstIndex(of: flag) else { return false }
        rest.remove(at: index)
        return true
    }

    mutating func takeOption(_ option: String) throws(Misuse) -> String? {
        guard let index = rest.firstIndex(of: option) else { return nil }
        guard index + 1 < rest.count, !rest[index + 1].hasPrefix("--") else { throw .noValue(option) }
        defer { rest.removeSubrange(index...(index + 1)) }
        return rest[index + 1]
    }

    func end() throws(Misuse) {
        if let first = rest.first { throw .unknown(first) }
    }
}
