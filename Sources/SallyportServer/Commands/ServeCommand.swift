import AuthStore
import Reactor

/// `serve`: production, or an integration-test target.
struct ServeCommand {
    let kind: DeploymentKind

    func run(_ reader: SettingsReader, _ environment: ProcessEnvironment) -> Int32 {
        // Before the first thread, so that every thread leaves the signals to the main one.
        Signals.block(ServerProcess.signals)
        guard let settings = environment.settings(reader, for: .serving) else { return 1 }
        return ServerProcess(settings: settings, kind: kind, environment: environment).run()
    }
}

extension ProcessEnvironment {
    /// The settings, or every problem on stderr.
    func settings(_ reader: SettingsReader, for purpose: SettingsReader.Purpose) -> Settings? {
        do throws(SettingProblems) {
            return try reader.read(for: purpose)
        } catch {
            for problem in error.all { complain(problem.description) }
            return nil
        }
    }
}

/// `config`: what is in force, or a template.
struct ConfigCommand {
    let isTemplate: Bool

    func run(_ reader: SettingsReader, _ environment: ProcessEnvironment) -> Int32 {
        if isTemplate {
            environment.say(SettingsText.template())
            return 0
        }
        environment.say(SettingsText.current(reader))
        return environment.settings(reader, for: .inspecting) == nil ? 1 : 0
    }
}
