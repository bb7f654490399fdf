/// What a message of PowerSync or of an app's log points to.
package enum PowerSyncSymptom {
    private struct Row {
        let text: String
        let faults: [PowerSyncFault]

        init(_ text: String, _ faults: [PowerSyncFault]) {
            self.text = text
            self.faults = faults
        }
    }

    private static let messages: [Row] = [
        Row("well-formed JWT", [.tokenMalformed]),
        Row("Check the token format", [.tokenMalformed]),
        Row("missing a required claim", [.claimMissing]),
        Row(
            "keystore",
            [.jwksMissing, .jwksForeign, .tokenWithoutKID, .staticKeyForeign, .jwksWithoutOurKey, .publishLeadShort]),
        Row("signature verification failed", [.tokenSignature, .staticKeyForeign, .sharedSecret, .supabaseSecret]),
        Row("Unexpected token algorithm", [.tokenAlgorithm, .sharedSecret]),
        Row("Header Parameter value not allowed", [.tokenAlgorithm]),
        Row("parameters must be an object", [.tokenParameters]),
        Row("Unexpected \"aud\"", [.audienceMissing, .audienceForeign, .tokenAudience]),
        Row("JWT has expired", [.tokenExpired, .clockSkew, .accessLifetimeShort]),
        Row("Token must expire in a maximum", [.tokenTooLong]),
        Row("Authentication required", [.webSocketSaysLittle]),
        Row("Invalid jwks_uri", [.jwksAddressMalformed]),
        Row("Attempting to substitute environment", [.environmentName]),
        Row("Attempted to substitute environment", [.environmentNeeded]),
        Row("Failed to validate PowerSync config", [.valueKind]),
        Row("Failed to decode PowerSync config", [.valueKind]),
        Row("Could not parse YAML", [.configMalformed, .environmentName]),
    ]

    private static let codes: [Row] = [
        Row("PSYNC_S2103", [.tokenExpired, .clockSkew, .accessLifetimeShort]),
        Row("PSYNC_S2104", [.tokenTooLong]),
        Row("PSYNC_S2105", [.audienceMissing, .audienceForeign, .tokenAudience]),
        Row("PSYNC_S2106", [.tokenMissing, .endpointRedirected]),
        Row("PSYNC_S2201", [.jwksWrongShape]),
        Row("PSYNC_S2202", [.jwksAddressRefused]), Row("PSYNC_S2203", [.jwksAddressRefused]),
        Row("PSYNC_S2204", [.jwksUnreachable, .jwksSlow, .jwksRedirected, .jwksNotFound, .jwksWrongShape]),
        Row("PSYNC_S3102", [.jwksAddressMalformed]), Row("PSYNC_S3103", [.jwksAddressMalformed]),
    ]

    /// PowerSync says PSYNC_S2101 of all this, and only its text tells what it is. Its documents have S2102 for two of them,
    /// which no version says.
    private static let generic: [Row] = ["PSYNC_S2101", "PSYNC_S2102"].map { code in
        Row(
            code,
            [
                .jwksMissing, .jwksForeign, .jwksWithoutOurKey, .staticKeyForeign, .publishLeadShort, .tokenMalformed,
                .tokenWithoutKID, .tokenSignature, .tokenAlgorithm, .claimMissing, .tokenParameters,
            ])
    }

    package static func faults(of message: String) -> [PowerSyncFault] {
        let message = message.lowercased()
        func faults(_ rows: [Row]) -> [PowerSyncFault] {
            rows.filter { message.hasText($0.text.lowercased()) }.flatMap(\.faults)
        }
        var found = faults(messages) + faults(codes)
        if found.isEmpty { found = faults(generic) }
        var unique: [PowerSyncFault] = []
        for fault in found where !unique.contains(fault) { unique.append(fault) }
        return unique
    }
}
