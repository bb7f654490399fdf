import Postgres
import Primitives

/// Reads settings from the environment and a file, and reports every problem at once.
package struct SettingsReader {
    package enum Purpose: Sendable {
        /// Everything that serving needs has to be there.
        case serving
        /// Commands that only look, or only need the database.
        case inspecting
    }

    /// What was given, after `…_FILE` has been read; the file's lines below the environment's variables.
    package let values: [String: String]
    private var problems: [SettingProblem] = []
    /// Where values came from a file.
    private var files: [String: String] = [:]
    private let readFile: @Sendable (String) -> String?

    /// - Parameters:
    ///   - environment: all variables; those that do not begin with `SALLYPORT_` are left alone.
    ///   - file: the text of `--config`: lines `NAME=value`, `#` begins a comment line.
    ///   - readFile: for secrets from files, at the start; for database URLs before each new connection too.
    package init(
        environment: [String: String], file: String?, readFile: @escaping @Sendable (String) -> String?
    ) {
        var given: [String: String] = [:]
        var problems: [SettingProblem] = []
        for line in file?.split(whereSeparator: \.isNewline) ?? [] {
            let text = line.drop(while: \.isWhitespace)
            if text.isEmpty || text.hasPrefix("#") { continue }
            guard let equals = text.firstIndex(of: "="), text.hasPrefix("SALLYPORT_") else {
                problems.append(SettingProblem(name: "--config", message: "a line is not SALLYPORT_NAME=value"))
                continue
            }
            given[String(text[..<equals])] = String(text[text.index(after: equals)...])
        }
        given.merge(environment.filter { $0.key.hasPrefix("SALLYPORT_") }) { _, fromEnvironment in fromEnvironment }

        var values: [String: String] = [:]
        var files: [String: String] = [:]
        for (name, value) in given where !value.isEmpty {
            guard let setting = Self.setting(named: name) else {
                problems.append(SettingProblem(name: name, message: "there is no such setting"))
                continue
            }
            guard setting.name != name else {
                values[name] = value
                continue
            }
            if given[setting.name].map({ !$0.isEmpty }) ?? false {
                problems.append(SettingProblem(name: name, message: "given beside \(setting.name): use one of the two"))
            } else if let content = readFile(value) {
                values[setting.name] = Self.trimmed(content)
                files[setting.name] = value
            } else {
                problems.append(SettingProblem(name: name, message: "the file cannot be read"))
            }
        }
        self.readFile = readFile
        self.values = values
        self.files = files
        self.problems = problems
    }

    /// - Throws: `SettingProblems` with every problem there is.
    package func read(for purpose: Purpose) throws(SettingProblems) -> Settings {
        var settings = Settings()
        var problems = problems
        for setting in SettingTable.rows {
            let isDescribed = SettingTable.describedDefaults.contains(setting.name)
            guard let value = values[setting.name] ?? (isDescribed ? nil : setting.standard) else {
                if setting.isRequired, purpose == .serving {
                    problems.append(SettingProblem(name: setting.name, message: "must be set: \(setting.help)"))
                }
                continue
            }
            do throws(SettingFault) {
                try setting.apply(&settings, value)
            } catch {
                problems.append(SettingProblem(name: setting.name, message: "must be \(error.expected)"))
            }
        }
        for (name, member) in Self.databaseURLs {
            guard let url = settings[keyPath: member] else { continue }
            if let fault = url.fault { problems.append(SettingProblem(name: name, message: fault.description)) }
            if let path = files[name] { settings[keyPath: member] = rereading(url, from: path) }
        }
        do throws(SettingProblem) { _ = try settings.identityMapping() } catch { problems.append(error) }
        problems += settings.gateProblems
        if let problem = certificateProblem { problems.append(problem) }
        guard problems.isEmpty else { throw SettingProblems(all: problems.sorted { $0.name < $1.name }) }
        return settings
    }

    private static var databaseURLs: [(String, WritableKeyPath<Settings, DatabaseURL?>)] {
        [
            ("SALLYPORT_DATABASE_URL", \.databaseURL), ("SALLYPORT_IDENTITY_DATABASE_URL", \.identityDatabaseURL),
        ]
    }

    private func rereading(_ url: DatabaseURL, from path: String) -> DatabaseURL {
        DatabaseURL(url.text) { [readFile] in
            readFile(path).flatMap { try? SettingValue.databaseURL(Self.trimmed($0)) }?.text
        }
    }

    /// A setting, or the one whose value `…_FILE` names the file of; only secrets come from files.
    private static func setting(named name: String) -> Setting? {
        SettingTable.rows.first { $0.name == name || $0.isSecret && $0.name + "_FILE" == name }
    }

    /// A certificate without its key serves nothing, nor the other way round.
    private var certificateProblem: SettingProblem? {
        switch (values["SALLYPORT_TLS_CERT_FILE"], values["SALLYPORT_TLS_KEY_FILE"]) {
        case (_?, nil): SettingProblem(name: "SALLYPORT_TLS_KEY_FILE", message: "must be set with the certificate")
        case (nil, _?): SettingProblem(name: "SALLYPORT_TLS_CERT_FILE", message: "must be set with the key")
        default: nil
        }
    }

    private static func trimmed(_ content: String) -> String {
        var text = content[...]
        while text.last?.isNewline ?? false { text.removeLast() }
        return String(text)
    }
}

package struct SettingProblems: Error, Sendable {
    package let all: [SettingProblem]
}
