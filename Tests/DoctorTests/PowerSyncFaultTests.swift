import AuthTesting
import Crypto
import JOSE
import JSON
import Outbound
import Primitives
import Testing

@testable import Doctor

/// The failures that people met between a token server and PowerSync, in public threads: each is recognised by what
/// an operator has at hand, a configuration, an address, a token or a message, and has one name.
@Suite("PowerSync's failures")
struct PowerSyncFaultTests {
    private static let terms = PowerSyncTerms(
        issuer: "https://auth.example.net", audiences: ["https://auth.example.net", "powersync"],
        accessLifetime: .minutes(30), keys: [JWK(FixedKeys.signing.publicKey)])
    private static let now = FixedKeys.createdAt

    private static let good = """
        client_auth:
          jwks_uri: https://auth.example.net/.well-known/jwks.json
          audience: [powersync]
        """

    private func faults(_ config: String?) -> Set<PowerSyncFault> {
        Set(PowerSyncJudge(terms: Self.terms).findings(config: config).map(\.fault))
    }

    @Test("our own block is taken as it is printed, in any position and as JSON")
    func ownBlock() {
        #expect(faults(Self.terms.clientAuthBlock) == [])
        #expect(faults("replication:\n  connections:\n    - type: postgresql\n\n" + Self.good + "\nport: 8081\n") == [])
        #expect(
            faults(
                #"{"client_auth":{"jwks_uri":["https://auth.example.net/.well-known/jwks.json"],"audience":["a","powersync"]}}"#
            ) == [])
    }

    @Test(
        "what the configuration has wrong",
        arguments: [
            // powersync-js, "JWT Key Not Found in Keystore"; powersync-service 311
            ("client_auth:\n  audience: [powersync]", [PowerSyncFault.jwksMissing]),
            ("client_auth:\n  jwks_uri: https://auth.example.net/.well-known/jwks.json", [.audienceMissing]),
            (
                "client_auth:\n  jwks_uri: https://auth.example.net/.well-known/jwks.json\n  audience: []",
                [.audienceMissing]
            ),
            // powersync-service 80; self-host-demo 51
            (good + "\n  supabase: true", [.supabaseEnabled, .supabaseReplacesAudience, .supabaseBesideJWKS]),
            // powersync-js 258, 366, 432
            ("client_auth:\n  supabase: true", [.supabaseEnabled, .jwksMissing, .audienceMissing]),
            // powersync-service 184
            (good + "\n  supabase_jwt_secret: abcdefgh", [.supabaseSecret]),
            // powersync-service 636
            (good + "\n  jwks:\n    keys:\n      - kty: EC\n        crv: P-512\n        kid: a", [.curveName]),
            // thunderbolt 548, 623
            (
                "client_auth:\n  audience: [powersync]\n  jwks:\n    keys:\n      - kty: oct\n        k: c2VjcmV0\n        kid: a",
                [.sharedSecret, .jwksMissing]
            ),
            // thunderbolt 1068
            (
                good + "\n  jwks:\n    keys:\n      - {kty: RSA, kid: powersync-dev, n: abc, e: AQAB}",
                [.staticKeyForeign]
            ),
            (good + "\n  jwks:\n    keys:\n      - {kty: RSA, n: abc, e: AQAB}", [.staticKeyUnnamed]),
            // wger 2447, 2432, 2404, docker 156
            ("storage:\n  type: postgresql", [.noClientAuth]), ("", [.noClientAuth]),
            ("client_auth:\n  jwks_uri: !env PS_JWKS_URL\n  audience: [powersync]", [.environmentNeeded]),
            ("client_auth:\n  jwks_uri: !env JWKS_URL\n  audience: [powersync]", [.environmentName]),
            (
                "client_auth:\n  jwks_uri: https://your-app.example.com/.well-known/jwks.json\n  audience: [powersync]",
                [.jwksElsewhere, .placeholder]
            ),
            (
                "client_auth:\n  jwks_uri: https://auth.example.net/api/auth/jwks\n  audience: [powersync]",
                [.jwksForeign]
            ),
            (
                "client_auth:\n  jwks_uri: http://localhost:8080/.well-known/jwks.json\n  audience: [powersync]",
                [.jwksOnLoopback]
            ),
            (
                "client_auth:\n  jwks_uri: http://10.1.2.3/.well-known/jwks.json\n  audience: [powersync]\n  jwks_reject_ip_ranges: [local]",
                [.jwksElsewhere, .jwksAddressRefused]
            ),
            (
                "client_auth:\n  jwks_uri: https://auth.example.net/.well-known/jwks.json\n  audience:\n    - powersync/",
                [.audienceForeign]
            ),
            ("client_auth:\n\tjwks_uri: x", [.configUnreadable]), ("client_auth: *shared", [.configUnreadable]),
        ] as [(String, Set<PowerSyncFault>)])
    func configuration(text: String, expected: Set<PowerSyncFault>) {
        #expect(faults(text) == expected)
    }

    @Test("a file that is not mounted is named, and our own key in the file ends with the next rotation")
    func otherFiles() {
        #expect(faults(nil) == [.configUnreadable])
        let key = Self.terms.keys[0].json
        let (kid, n) = (key["kid"]?.stringValue ?? "", key["n"]?.stringValue ?? "")
        let file =
            "client_auth:\n  audience: [powersync]\n  jwks:\n    keys:\n      - kty: RSA\n        kid: \(kid)\n        n: \(n)\n        e: AQAB"
        #expect(faults(file) == [.staticKeyAlone])
        #expect(faults(file + "\n  jwks_uri: https://auth.example.net/.well-known/jwks.json") == [])
    }

    private static func answer(
        _ status: Int, _ body: String, after duration: Duration = .milliseconds(9), location: String? = nil
    ) -> Result<OutboundResponse, OutboundError> {
        .success(
            OutboundResponse(
                status: status, fields: location.map { [("Location", $0)] } ?? [], body: Array(body.utf8),
                duration: duration))
    }

    @Test(
        "what the address of the key set answers",
        arguments: [
            // powersync-service 295
            (answer(200, #"{"keys":[{"kid":"a"}]}"#, after: .milliseconds(3_001)), [PowerSyncFault.jwksSlow]),
            (answer(301, "", location: "https://a/"), [.jwksRedirected]), (answer(503, ""), [.jwksNotFound]),
            (answer(200, "<html>"), [.jwksWrongShape]), (answer(200, #"[{"kid":"a"}]"#), [.jwksWrongShape]),
            (answer(200, #"{"keys":[null]}"#), [.jwksWrongShape]), (answer(200, #"{"keys":[]}"#), [.jwksEmpty]),
            // better-auth 7416
            (answer(200, #"{"keys":[{"kty":"RSA"},{"kid":"a"}]}"#), [.jwksUnnamedKeys]),
            (answer(200, #"{"keys":[{"kid":"b"}]}"#), [.jwksWithoutOurKey]),
            (answer(200, #"{"keys":[{"kid":"a","d":"x"}]}"#), [.jwksPrivate]),
            (answer(200, #"{"keys":[{"kid":"a"}]}"#), []),
            (.failure(.nameUnknown), [.jwksUnreachable]), (.failure(.timedOut), [.jwksUnreachable]),
        ] as [(Result<OutboundResponse, OutboundError>, [PowerSyncFault])])
    func keySet(result: Result<OutboundResponse, OutboundError>, expected: [PowerSyncFault]) {
        #expect(KeySetProbe.findings(result, signingKID: "a").map(\.fault) == expected)
    }

    @Test(
        "what apps are given as the endpoint",
        arguments: [
            ("https://sync.example.net", []), ("http://localhost:8081", []), ("https://sync.example.net:8443", []),
            ("https://sync.example.net/", [PowerSyncFault.endpointHasPath]),
            ("https://sync.example.net/powersync", [.endpointHasPath]),
            // thunderbolt 982
            ("http://powersync:8080", [.endpointInternal]), ("https://host.docker.internal", [.endpointInternal]),
            ("sync.example.net", [.endpointMalformed]), ("", [.endpointMalformed]),
        ])
    func endpoint(text: String, expected: [PowerSyncFault]) {
        #expect(EndpointProbe.findings(text).map(\.fault) == expected)
    }

    @Test("an endpoint that redirects loses the token on the way")
    func redirect() {
        // wger-project/flutter 1343
        let moved = Self.answer(301, "", location: "https://sync.example.net/sync")
        #expect(EndpointProbe.findings(moved).map(\.fault) == [.endpointRedirected])
        #expect(EndpointProbe.findings(Self.answer(404, "")).map(\.fault) == [])
        #expect(EndpointProbe.findings(.failure(.unreachable)).map(\.fault) == [.endpointUnreachable])
    }

    @Test(
        "what a token has wrong",
        arguments: [
            ("kid", nil, [PowerSyncFault.tokenWithoutKID]),  // thunderbolt 360, 383; better-auth 7416
            ("sub", 123, [.subjectNotText]),  // powersync-service 489, 490, 505
            ("sub", nil, [.claimMissing]), ("aud", nil, [.claimMissing]), ("aud", "other", [.tokenAudience]),
            ("exp", .integer(now.secondsSinceEpoch + 10 * 86_400), [.tokenTooLong]),  // powersync-service 80
            ("exp", .integer(now.secondsSinceEpoch * 1_000), [.tokenTooLong]),
            ("exp", .integer(now.secondsSinceEpoch - 60), [.tokenExpired]),  // wger 2428, 2497; flutter 1265
            ("exp", "soon", [.claimMissing]), ("iat", nil, [.claimMissing]), ("jti", nil, []),
        ] as [(String, JSONValue?, [PowerSyncFault])])
    func token(name: String, value: JSONValue?, expected: [PowerSyncFault]) {
        var header: JSONObject = ["alg": "RS256", "kid": "a"]
        let seconds = Self.now.secondsSinceEpoch
        var claims: JSONObject = [
            "sub": "u", "aud": ["powersync"], "iat": .integer(seconds - 600), "exp": .integer(seconds + 600),
            "jti": "j",
        ]
        if name == "kid" { header["kid"] = value } else { claims[name] = value }
        let found = PowerSyncTokenProbe.findings(
            header: header, claims: claims, audiences: ["powersync"], at: Self.now)
        #expect(found.map(\.fault) == expected)
    }

    @Test(
        "a message leads to what it may mean",
        arguments: [
            ("[PSYNC_S2101] Could not find an appropriate key in the keystore", PowerSyncFault.jwksMissing),
            ("PSYNC_S2103: JWT has expired", .tokenExpired), ("PSYNC_S2104", .tokenTooLong),
            ("[psync_s2105] Unexpected \"aud\" claim", .audienceMissing),
            ("PSYNC_S2106 Authentication required", .tokenMissing), ("PSYNC_S2204", .jwksSlow),
            ("JWT payload is missing a required claim \"sub\"", .claimMissing),
            // powersync-service 258, 288
            ("Authentication required", .webSocketSaysLittle),
            // powersync-js 257, 604, 1034; powersync.dart 251; powersync-kotlin 11
            ("401 PSYNC_S2103 again and again", .tokenExpired),
        ])
    func symptom(message: String, fault: PowerSyncFault) {
        #expect(PowerSyncSymptom.faults(of: message).contains(fault))
        #expect(PowerSyncSymptom.faults(of: "all is well") == [])
    }

    @Test("every fault has its own name and advice")
    func advice() {
        let all = PowerSyncFault.allCases
        #expect(Set(all.map(\.advice)).count == all.count)
        for fault in all { #expect(fault.advice.hasSuffix(".") && fault.advice.utf8.count > 20, "\(fault)") }
    }

    @Test("a detail from outside cannot move the terminal's cursor")
    func details() {
        let sentence = PowerSyncFinding(.jwksForeign, "a\u{1b}[31m").sentence
        #expect(!sentence.contains("\u{1b}"))
    }
}
