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
        guard let address = OutboundAddress(isPlain ? "https" + text.dropFirst(4) : text),
            let parts = KeySetAddress(text)
        else { return [PowerSyncFinding(.endpointMalformed, text)] }
        var found: [PowerSyncFinding] = []
        let rest = text.dropFirst(isPlain ? 7 : 8)
        if rest.contains(where: { "/?#".contains($0) }) { found.append(PowerSyncFinding(.endpointHasPath, text)) }
        let isNumber = parts.address != nil
        let isIsolated = parts.address.map { number in ReservedAddresses.isolated.contains { $0.contains(number) } }
        if parts.isLoopback || isIsolated ?? false {
            found.append(PowerSyncFinding(.endpointLocal, address.host))
        } else if !isNumber, !parts.host.contains(".") || [".internal", ".local"].contains(where: parts.host.hasSuffix)
        {
            found.append(PowerSyncFinding(.endpointInternal, address.host))
        } else if isPlain {
            found.append(PowerSyncFinding(.endpointPlain, address.host))
        }
        return found
    }

    package static func findings(_ result: Result<OutboundResponse, OutboundError>) -> [PowerSyncFinding] {
        switch result {
        case .failure(let error): return [PowerSyncFinding(.endpointUnreachable, error.description)]
        case .success(let response):
            switch response.status {
            case 300..<400:
                return [PowerSyncFinding(.endpointRedirected, response.field("location") ?? "\(response.status)")]
            case 500...: return [PowerSyncFinding(.endpointBroken, "\(response.status)")]
            // PowerSync has no page at its root: 404 is what it says there.
            default: return []
            }
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
        if end - issued > 86_400 {
            let seconds = Int64(exactly: (end - issued).rounded()) ?? .max
            found.append(PowerSyncFinding(.tokenTooLong, "\(seconds) s"))
        }
        if end <= Double(now.secondsSinceEpoch - 60) { found.append(PowerSyncFinding(.tokenExpired)) }
        return found
    }
}
