/// Settings as text: what is in force, and the template of a file.
package enum SettingsText {
    /// `NAME=value` lines of what was given; secrets are not shown, defaults come as comments: `=` before a value, `:`
    /// before words.
    package static func current(_ reader: SettingsReader) -> String {
        SettingTable.rows.map { setting in
            switch reader.values[setting.name] {
            case .some where setting.isSecret: "\(setting.name)=[redacted]"
            case .some(let value): "\(setting.name)=\(value)"
            case nil where SettingTable.describedDefaults.contains(setting.name):
                "# \(setting.name): \(setting.standard ?? "")"
            case nil: "# \(setting.name)=\(setting.standard ?? "")"
            }
        }.joined(separator: "\n") + "\n"
    }

    /// `.env.example`.
    package static func template() -> String {
        "# Settings of sallyport serve, with their defaults. Secrets can come from files: NAME_FILE=/path.\n"
            + "# Durations: 90s, 30m, 12h, 30d. Lists: separated by commas.\n\n"
            + SettingTable.rows.map { setting in
                let value = SettingTable.describedDefaults.contains(setting.name) ? "" : setting.standard ?? ""
                let prefix = setting.isRequired ? "" : "# "
                return "# \(sentence(setting))\n\(prefix)\(setting.name)=\(value)\n"
            }.joined(separator: "\n")
    }

    /// The README's table.
    package static func markdown() -> String {
        "| variable | default | meaning |\n|---|---|---|\n"
            + SettingTable.rows.map { setting in
                let standard = setting.isRequired ? "required" : setting.standard.map { "`\($0)`" } ?? "none"
                let described = SettingTable.describedDefaults.contains(setting.name) ? setting.standard : nil
                return "| `\(setting.name)` | \(described ?? standard) | \(setting.help) |\n"
            }.joined()
    }

    private static func sentence(_ setting: Setting) -> String {
        let described = SettingTable.describedDefaults.contains(setting.name) ? setting.standard : nil
        return setting.help + (setting.isRequired ? " (required)" : described.map { " (default: \($0))" } ?? "")
    }
}
