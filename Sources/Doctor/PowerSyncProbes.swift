package import JSON
package import Outbound
package import Primitives

/// What an answer from the address of the key set means for PowerSync.
package enum KeySetProbe {
    /// PowerSync's own limit for a cold cache.
    private static let coldFetchMax = Duration.seconds(3)
    private static let privateMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"]

    /// - Parameter kid: of the key that signs; `nil` where it is not known.
    package static func findings(
        _ result: Result<OutboundResponse, OutboundError>, signingKID kid: String?
    ) -> [PowerSyncFinding] {
        let response: OutboundResponse
        switch result {
        case .failure(let error): return [PowerSyncFinding(.jwksUnreachable, error.description)]
        case .success(let answer): response = answer
        }
        var found: [PowerSyncFinding] = []
        if response.duration > coldFetchMax {
            found.append(PowerSyncFinding(.jwksSlow, "\(response.duration.wholeMilliseconds) ms"))
        }
        if (300..<400).contains(response.status) {
            return found + [PowerSyncFinding(.jwksRedirected, response.field("location") ?? "\(response.status)")]
        }
        guard response.status == 200 else { return found + [PowerSyncFinding(.jwksNotFound, "\(response.status)")] }
        return found + findings(content: response.body, kid)
    }

    private static func findings(content: [UInt8], _ kid: String?) -> [PowerSyncFinding] {
        let document = (try? JSONParser.parse(content))?.objectValue
        guard let elements = document?["keys"]?.arrayValue else { return [PowerSyncFinding(.jwksWrongShape)] }
        let keys = elements.compactMap(\.objectValue)
        guard keys.count == elements.count else { return [PowerSyncFinding(.jwksWrongShape)] }
        if keys.isEmpty { return [PowerSyncFinding(.jwksEmpty)] }
        var found: [PowerSyncFinding] = []
        if keys.contains(where: { key in privateMembers.contains { key[$0] != nil } }) {
            found.append(PowerSyncFinding(.jwksPrivate))
        }
        let kids = keys.compactMap { $0["kid"]?.stringValue }
        if kids.count < keys.count { found.append(PowerSyncFinding(.jwksUnnamedKeys)) }
        if let kid, !kids.contains(where: { areIdentical($0, kid) }) {
            found.append(PowerSyncFinding(.jwksWithoutOurKey, kid))
        }
        return found
    }
}

/// The address that apps are given for PowerSync itself.
package enum EndpointProbe {
    package static func findings(_ text: String) -> [PowerSyncFinding] {
        let isPlain = text.hasPrefix("http://")
        // http is read like https here: on a developer's machine it is what there is.
        guard let address = OutboundAddress(isPlain ? "https" + text.dropFirst(4) : text) else {
            return [PowerSyncFinding(.endpointMalformed, text)]
        }
        var found: [PowerSyncFinding] = []
        let rest = text.dropFirst(isPlain ? 7 : 8)
        if rest.contains("/") { found.append(PowerSyncFinding(.endpointHasPath, text)) }
        let isSingleName = !address.host.contains(".") && !address.host.hasPrefix("[") && address.host != "localhost"
        if isSingleName || address.host.hasSuffix(".internal") || address.host.hasSuffix(".local") {
            found.append(PowerSyncFinding(.endpointInternal, address.host))
        }
        return found
    }

    package static func findings(_ result: Result<OutboundResponse, OutboundError>) -> [PowerSyncFinding] {
        switch result {
        case .failure(let error): return [PowerSyncFinding(.endpointUnreachable, error.description)]
        case .success(let response):
            guard (300..<400).contains(response.status) else { return [] }
            return [PowerSyncFinding(.endpointRedirected, response.field("location") ?? "\(response.status)")]
        }
    }
}

/// What PowerSync would say of a token that our own verifier has read.
package enum PowerSyncTokenProbe {
    /// - Parameter audiences: of client_auth; empty where they are not known.
    package static func findings(header: JSONObject, claims: JSONObject, audiences: [String], at now: Timestamp)
        -> [PowerSyncFinding]
    {
        var found: [PowerSyncFinding] = []
        if header["kid"]?.stringValue?.isEmpty ?? true { found.append(PowerSyncFinding(.tokenWithoutKID)) }
        if let subject = claims["sub"] {
            if subject.stringValue == nil { found.append(PowerSyncFinding(.subjectNotText)) }
        } else {
            found.append(PowerSyncFinding(.claimMissing, "sub"))
        }
        let given =
            claims["aud"]?.arrayValue?.compactMap(\.stringValue) ?? claims["aud"]?.stringValue.map { [$0] } ?? []
        if given.isEmpty {
            found.append(PowerSyncFinding(.claimMissing, "aud"))
        } else if !audiences.isEmpty, !given.contains(where: { one in audiences.contains { areIdentical($0, one) } }) {
            found.append(PowerSyncFinding(.tokenAudience, given.joined(separator: ", ")))
        }
        guard let issued = claims["iat"]?.doubleValue, let end = claims["exp"]?.doubleValue else {
            let missing = claims["exp"]?.doubleValue == nil ? "exp" : "iat"
            return found + [PowerSyncFinding(.claimMissing, missing)]
        }
        if end - issued > 86_400 { found.append(PowerSyncFinding(.tokenTooLong, "\(Int64(end - issued)) s")) }
        if end <= Double(now.secondsSinceEpoch - 60) { found.append(PowerSyncFinding(.tokenExpired)) }
        return found
    }
}

/// What a message of PowerSync or of an app's log points to.
package enum PowerSyncSymptom {
    private static let rows: [(text: String, faults: [PowerSyncFault])] = [
        ("PSYNC_S2103", [.tokenExpired, .clockSkew, .accessLifetimeShort]),
        ("PSYNC_S2104", [.tokenTooLong]),
        ("PSYNC_S2105", [.audienceMissing, .audienceForeign, .supabaseReplacesAudience]),
        ("PSYNC_S2106", [.tokenMissing, .endpointRedirected]),
        ("PSYNC_S2201", [.jwksWrongShape]),
        ("PSYNC_S2202", [.jwksAddressRefused]), ("PSYNC_S2203", [.jwksAddressRefused]),
        ("PSYNC_S2204", [.jwksUnreachable, .jwksSlow, .jwksRedirected, .jwksWrongShape]),
        ("PSYNC_S3102", [.jwksMissing]), ("PSYNC_S3103", [.jwksForeign]),
        ("missing a required claim", [.claimMissing]),
        ("keystore", [.jwksMissing, .jwksForeign, .tokenWithoutKID, .staticKeyForeign, .jwksWithoutOurKey]),
        ("signature verification failed", [.staticKeyForeign, .sharedSecret, .supabaseSecret]),
        ("Unexpected token algorithm", [.sharedSecret]),
        ("Authentication required", [.webSocketSaysLittle]),
    ]

    package static func faults(of message: String) -> [PowerSyncFault] {
        let message = Array(message.lowercased().utf8)
        return rows.filter { row in
            let wanted = Array(row.text.lowercased().utf8)
            guard message.count >= wanted.count else { return false }
            return (0...(message.count - wanted.count)).contains { message[$0...].starts(with: wanted) }
        }.flatMap(\.faults)
    }
}
