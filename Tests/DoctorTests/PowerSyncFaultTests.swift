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
        gatedAudiences: ["powersync"], accessLifetime: .minutes(30), keys: [JWK(FixedKeys.signing.publicKey)])
    private static let now = FixedKeys.createdAt

    private static let good = """
        client_auth:
          jwks_uri: https://auth.example.net/.well-known/jwks.json
          audience: [powersync]
        """

    private func faults(
        _ config: String?, name: String = "powersync.yaml", variables: [String: String] = [:]
    ) -> Set<PowerSyncFault> {
        let judge = PowerSyncJudge(terms: Self.terms, variables: { variables[$0] })
        return Set(judge.findings(config: config.map { Array($0.utf8) }, name: name).map(\.fault))
    }

    @Test("our own block is taken as it is printed, in any position and as JSON")
    func ownBlock() {
        #expect(faults(Self.terms.clientAuthBlock) == [])
        #expect(faults("replication:\n  connections:\n    - type: postgresql\n\n" + Self.good + "\nport: 8081\n") == [])
        let json =
            #"{"client_auth":{"jwks_uri":["https://auth.example.net/.well-known/jwks.json"],"audience":["a","powersync"]}}"#
        #expect(faults(json, name: "powersync.json") == [])
        // The name decides, and where it says nothing, either will do.
        #expect(faults(Self.good, name: "powersync.json") == [.configMalformed])
        #expect(faults(json + "\n", name: "config") == [])
        #expect(faults(json.replacing("\"a\"", with: "\"\\ud83d\\ude00\""), name: "config") == [])
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
            (good + "\n  supabase: true", [.supabaseEnabled]),
            // powersync-js 258, 366, 432
            ("client_auth:\n  supabase: true", [.supabaseEnabled, .jwksMissing, .audienceMissing]),
            // powersync-service 184
            (good + "\n  supabase_jwt_secret: abcdefgh", [.supabaseSecret]),
            // powersync-service 636
            (good + "\n  jwks:\n    keys:\n      - kty: EC\n        crv: P-512\n        kid: a", [.curveName]),
            // thunderbolt 548, 623
            (
                "client_auth:\n  audience: [powersync]\n  jwks:\n    keys:\n      - kty: oct\n        k: c2VjcmV0\n        alg: HS256",
                [.sharedSecret, .jwksMissing]
            ),
            // thunderbolt 1068
            (
                good + "\n  jwks:\n    keys:\n      - {kty: RSA, kid: powersync-dev, n: abc, e: AQAB}",
                [.staticKeyForeign]
            ),
            (good + "\n  jwks:\n    keys:\n      - {kty: RSA, n: abc, e: AQAB}", [.valueKind]),
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
            ("client_auth:\n\tjwks_uri: x", [.configMalformed]), ("client_auth: *shared", [.configMalformed]),
        ] as [(String, Set<PowerSyncFault>)])
    func configuration(text: String, expected: Set<PowerSyncFault>) {
        #expect(faults(text) == expected)
    }

    private static func auth(_ lines: String...) -> String {
        let own = ["jwks_uri: https://auth.example.net/.well-known/jwks.json", "audience: [powersync]"]
        let names = lines.map { $0.prefix { $0 != ":" } }
        let kept = own.filter { line in !names.contains { line.hasPrefix($0 + ":") } }
        return "client_auth:\n" + (kept + lines).map { "  \($0)\n" }.joined()
    }

    @Test(
        "wrong kinds keep PowerSync from starting",
        arguments: [
            auth("audience: powersync"), auth("audience: [1]"), auth("audience: {a: b}"), auth("audience:"),
            auth("audience: !env PS_AUDIENCE"), auth("audience: [!env 'PS_A::number']"), auth("jwks_uri: 7"),
            auth("jwks_uri:"), auth("jwks_uri: {a: b}"), auth("supabase: yes"), auth("supabase: 'true'"),
            auth("supabase: !env PS_SUPABASE"), auth("block_local_jwks: 1"), auth("jwks_reject_ip_ranges: local"),
            auth("jwks: [a]"), auth("jwks: {keys: {a: b}}"), auth("jwks: {keys: [a]}"),
            auth("jwks: {keys: [{kty: DSA}]}"),
            auth("jwks: {keys: [{kty: RSA, kid: 7, n: a, e: b}]}"), auth("jwks: {keys: [{kty: RSA, kid: a, n: a}]}"),
            auth("jwks: {keys: [{kty: RSA, kid: a, n: a, e: b, alg: PS256}]}"),
            auth("jwks: {keys: [{kty: oct, k: a}]}"),
            auth("jwks: {keys: [{kty: EC, crv: P-192, x: a, y: b, alg: ES256}]}"), auth("supabase_jwt_secret: 12345"),
            auth() + "storage: mongodb\n", auth() + "sync_rules:\n", auth() + "api: {tokens: abc}\n", "[a]", "word",
            auth() + "telemetry: {disable_telemetry_sharing: \"false\"}", "client_auth: none",
        ])
    func kinds(text: String) {
        #expect(faults(text).contains(.valueKind))
    }

    @Test(
        "what PowerSync takes in another spelling is taken here",
        arguments: [
            auth("supabase: FALSE"), auth("audience: ['powersync']"), auth("audience: [!!str powersync, 'other']"),
            auth("jwks_uri: HTTPS://Auth.Example.net:443/.well-known/jwks.json"), auth("block_local_jwks: false"),
            auth("jwks_uri: ' https://auth.example.net/.well-known/jwks.json#a '"), auth("unknown_name: 7"),
            auth("jwks_reject_ip_ranges: [local, 10.0.0.0/8, fc00::/7]"), auth("block_local_jwks: True"),
            auth() + "port: '8080'\ntelemetry: {prometheus_port: 9090, disable_telemetry_sharing: False}\n",
        ])
    func spellings(text: String) {
        #expect(faults(text) == [])
    }

    @Test(
        "no address for PowerSync",
        arguments: [
            "127.0.0.1:8080/.well-known/jwks.json", "localhost:8080/.well-known/jwks.json", "''", "ftp://a/b",
            "auth.example.net/.well-known/jwks.json", "https://user:secret@auth.example.net/.well-known/jwks.json",
            "https://token@auth.example.net/.well-known/jwks.json", "https:///", "https://a:99999/", "https://a b/",
            "'https://[::g]/'", "//auth.example.net/.well-known/jwks.json",
        ])
    func malformedAddress(address: String) {
        #expect(faults(Self.auth("jwks_uri: \(address)")).contains(.jwksAddressMalformed))
        // Beside ours too: PowerSync does not start with it.
        let both = "jwks_uri: [\(address), \"https://auth.example.net/.well-known/jwks.json\"]"
        #expect(faults(Self.auth(both)).contains(.jwksAddressMalformed))
    }

    @Test(
        "a reject range that holds the address refuses it",
        arguments: [
            ("127.0.0.1", "[local]", true), ("localhost", "[local]", true), ("[::1]", "[local]", true),
            ("10.1.2.3", "[local]", true), ("172.31.0.1", "[local]", true), ("172.32.0.1", "[local]", false),
            ("192.168.1.1", "[local]", true), ("169.254.1.1", "[local]", true), ("100.64.0.1", "[local]", true),
            ("100.128.0.1", "[local]", false), ("0.0.0.0", "[local]", true), ("224.0.0.1", "[local]", true),
            ("255.255.255.255", "[local]", true), ("198.18.0.1", "[local]", true), ("203.0.113.9", "[local]", true),
            ("[fe80::1]", "[local]", true), ("[fd00::1]", "[local]", true), ("[2001:db8::1]", "[local]", true),
            ("[2a00::1]", "[local]", false), ("8.8.8.8", "[local]", false), ("8.8.8.8", "[8.8.0.0/16]", true),
            ("8.8.8.8", "['2a00::/12', 9.0.0.0/8]", false), ("127.0.0.1", "[]", false), ("10.0.0.1", "[]", false),
            ("auth.example.net", "[local]", false), ("10.1.2.3", "[10.1.2.0/24]", true),
        ])
    func rejectRanges(host: String, ranges: String, isRefused: Bool) {
        let text = Self.auth(
            "jwks_uri: 'http://\(host):8080/.well-known/jwks.json'", "jwks_reject_ip_ranges: \(ranges)")
        #expect(faults(text).contains(.jwksAddressRefused) == isRefused)
    }

    @Test("block_local_jwks refuses local addresses and IPv6, however true is written, and a range has to be one")
    func blockLocal() {
        for truth in ["true", "True", "TRUE"] {
            let text = Self.auth("jwks_uri: 'http://[2a00::1]/.well-known/jwks.json'", "block_local_jwks: \(truth)")
            #expect(faults(text).contains(.jwksAddressRefused), "\(truth)")
        }
        for range in ["10.0.0.1", "10.0.0.0/33", "private", "''"] {
            #expect(faults(Self.auth("jwks_reject_ip_ranges: [\(range)]")) == [.rejectRangeMalformed], "\(range)")
        }
    }

    @Test("!env is read where the variable is set, and named where it is not")
    func environment() {
        let address = "jwks_uri: !env PS_JWKS_URL"
        let ours = ["PS_JWKS_URL": "https://auth.example.net/.well-known/jwks.json"]
        #expect(faults(Self.auth(address), variables: ours) == [])
        #expect(
            faults(Self.auth(address), variables: ["PS_JWKS_URL": "https://auth.example.net/keys"]) == [.jwksForeign])
        #expect(faults(Self.auth(address)) == [.environmentNeeded])
        #expect(faults(Self.auth("audience: [!env PS_A]"), variables: ["PS_A": "PowerSync"]) == [.audienceForeign])
        let flag = Self.auth("supabase: !env PS_S::boolean")
        #expect(faults(flag, variables: ["PS_S": "False"]) == [])
        #expect(faults(flag, variables: ["PS_S": "no"]).contains(.environmentKind))
        #expect(faults(flag) == [.environmentNeeded])
        #expect(faults(Self.auth("audience: [!env 'PS_A::text']")).contains(.environmentKind))
        // Elsewhere in the file a name that is not PS_ matters, and a value that is not known does not.
        #expect(faults(Self.auth() + "storage: {uri: !env PS_URI}") == [])
        #expect(faults(Self.auth() + "storage: {uri: !env DATABASE_URL}") == [.environmentName])
        #expect(
            faults(Self.auth() + "a: {uri: !env PS_U}\nport: !env PS_PORT::number", variables: ["PS_PORT": "x"]) == [
                .environmentKind
            ])
        let key = "jwks: {keys: [{kty: RSA, kid: !env PS_KID, n: !env PS_N, e: !env PS_E}]}"
        #expect(faults("client_auth:\n  \(key)\n  audience: [powersync]") == [.environmentNeeded, .staticKeyAlone])
        #expect(
            faults(
                "client_auth:\n  \(key)\n  audience: [powersync]",
                variables: ["PS_KID": "a", "PS_N": "b", "PS_E": "AQAB"])
                == [.jwksMissing, .staticKeyForeign])
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
            ("https://sync.example.net", []), ("https://sync.example.net:8443", []), ("https://8.8.8.8", []),
            ("https://sync.example.net/", [PowerSyncFault.endpointHasPath]),
            ("https://sync.example.net?v=1", [.endpointHasPath]), ("https://sync.example.net#a", [.endpointHasPath]),
            ("http://localhost:8081", [.endpointLocal]), ("https://127.0.0.1", [.endpointLocal]),
            ("https://[::1]:8080", [.endpointLocal]), ("https://app.localhost", [.endpointLocal]),
            ("https://0.0.0.0", [.endpointLocal]), ("https://192.168.1.5", [.endpointLocal]),
            ("https://10.0.2.2:8080", [.endpointLocal]), ("https://[fe80::1]", [.endpointLocal]),
            ("http://sync.example.net", [.endpointPlain]), ("ftp://sync.example.net", [.endpointMalformed]),
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
        for status in [200, 204, 401, 404, 426] {
            #expect(EndpointProbe.findings(Self.answer(status, "")).map(\.fault) == [], "\(status)")
        }
        for status in [500, 502, 503, 504, 530] {
            #expect(EndpointProbe.findings(Self.answer(status, "")).map(\.fault) == [.endpointBroken], "\(status)")
        }
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
            ("exp", .integer(.max), [.tokenTooLong]), ("exp", .integer(.min), [.tokenExpired]),
            ("iat", .integer(.min), [.tokenTooLong]), ("iat", .integer(.max), []),
            ("exp", JSONNumber(1e300).map(JSONValue.number), [.tokenTooLong]),
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
            (
                "[PSYNC_S2101] Could not find an appropriate key in the keystore",
                [
                    PowerSyncFault.jwksMissing, .jwksForeign, .tokenWithoutKID, .staticKeyForeign, .jwksWithoutOurKey,
                    .publishLeadShort,
                ]
            ),
            ("PSYNC_S2101: Token is not a well-formed JWT. Check the token format.", [.tokenMalformed]),
            ("token is not a well-formed jwt", [.tokenMalformed]),
            ("PSYNC_S2101 JWT payload is missing a required claim \"sub\"", [.claimMissing]),
            ("PSYNC_S2101 Unexpected token algorithm HS256", [.tokenAlgorithm, .sharedSecret]),
            ("\"alg\" (Algorithm) Header Parameter value not allowed", [.tokenAlgorithm]),
            ("PSYNC_S2101 Payload parameters must be an object", [.tokenParameters]),
            (
                "PSYNC_S2101 signature verification failed",
                [.tokenSignature, .staticKeyForeign, .sharedSecret, .supabaseSecret]
            ),
            ("PSYNC_S2103: JWT has expired", [.tokenExpired, .clockSkew, .accessLifetimeShort]),
            ("401 PSYNC_S2103 again and again", [.tokenExpired, .clockSkew, .accessLifetimeShort]),
            ("PSYNC_S2104", [.tokenTooLong]),
            ("[psync_s2105] Unexpected \"aud\" claim", [.audienceMissing, .audienceForeign, .tokenAudience]),
            ("PSYNC_S2106", [.tokenMissing, .endpointRedirected]), ("PSYNC_S2201", [.jwksWrongShape]),
            ("PSYNC_S2202", [.jwksAddressRefused]), ("PSYNC_S2203", [.jwksAddressRefused]),
            ("PSYNC_S2204", [.jwksUnreachable, .jwksSlow, .jwksRedirected, .jwksNotFound, .jwksWrongShape]),
            ("PSYNC_S3102", [.jwksAddressMalformed]), ("PSYNC_S3103", [.jwksAddressMalformed]),
            // powersync-service 258, 288
            ("Authentication required", [.webSocketSaysLittle]),
            ("Attempting to substitute environment variable JWKS_URL is not allowed", [.environmentName]),
            ("all is well", []), ("", []),
        ])
    func symptom(message: String, faults: [PowerSyncFault]) {
        #expect(PowerSyncSymptom.faults(of: message) == faults)
    }

    @Test(
        "a bare PSYNC_S2101 leads to each of its kinds",
        arguments: ["PSYNC_S2101", "psync_s2101", "[PSYNC_S2102] refused"])
    func genericCode(message: String) {
        let found = PowerSyncSymptom.faults(of: message)
        for fault: PowerSyncFault in [
            .jwksMissing, .jwksForeign, .tokenMalformed, .tokenWithoutKID, .tokenSignature, .tokenAlgorithm,
            .claimMissing,
        ] { #expect(found.contains(fault), "\(fault.name)") }
    }

    @Test("a detail from outside cannot move the terminal's cursor")
    func details() {
        let sentence = PowerSyncFinding(.jwksForeign, "a\u{1b}[31m").sentence
        #expect(!sentence.contains("\u{1b}"))
    }
}
