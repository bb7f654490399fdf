import Primitives

/// One row of the settings table: what the reader, `config`, `.env.example` and the README say of it.
struct Setting: Sendable {
    let name: String
    /// As a user writes it; `nil` where there is none.
    let standard: String?
    let help: String
    let isSecret: Bool
    /// Whether `serve` cannot do without it.
    let isRequired: Bool
    /// Reads a value into the settings. The error says what is expected and never repeats the value.
    let apply: @Sendable (inout Settings, String) throws(SettingFault) -> Void

    init<Value>(
        _ name: String, _ standard: String? = nil, isSecret: Bool = false, isRequired: Bool = false, _ help: String,
        _ member: any WritableKeyPath<Settings, Value> & Sendable,
        _ read: @escaping @Sendable (String) throws(SettingFault) -> Value
    ) {
        self.name = name
        self.standard = standard
        self.isSecret = isSecret
        self.isRequired = isRequired
        self.help = help
        apply = { (settings: inout Settings, text: String) throws(SettingFault) in
            settings[keyPath: member] = try read(text)
        }
    }
}

/// What a value should have been.
struct SettingFault: Error, Equatable {
    let expected: String

    init(_ expected: String) { self.expected = expected }
}

/// A setting that cannot be used, by name; safe to show.
package struct SettingProblem: Error, Equatable, Sendable, CustomStringConvertible {
    package let name: String
    package let message: String

    package var description: String { "\(name): \(message)" }
}
