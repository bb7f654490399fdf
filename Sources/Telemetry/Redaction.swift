/// The last net below the rule that no secret is ever handed to a log line.
package enum Redaction {
    /// Longer texts are cut: a log line is not a place for bodies.
    static let textCharactersMax = 2_000

    /// Replaces every run of token characters that starts like a JWS header, and cuts what is too long.
    ///
    /// `eyJ` is base64url of `{"`, with which every JSON header starts.
    package static func withoutTokens(_ text: String) -> String {
        let cut = text.count > textCharactersMax ? text.prefix(textCharactersMax) + "…" : text[...]
        guard cut.contains("eyJ") else { return String(cut) }
        var safe = ""
        var rest = cut
        while let start = rest.firstRange(of: "eyJ")?.lowerBound {
            safe += rest[..<start] + "[redacted]"
            rest = rest[start...].drop(while: isTokenCharacter)
        }
        return safe + rest
    }

    private static func isTokenCharacter(_ character: Character) -> Bool {
        character.isASCII && (character.isLetter || character.isNumber || "-_.=".contains(character))
    }
}
