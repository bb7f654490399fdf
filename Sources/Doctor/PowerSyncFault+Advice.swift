extension PowerSyncFault {
    /// What it means and what to do, with PowerSync's own code where it has one.
    package var advice: String {
        switch self {
        case .configUnreadable, .noClientAuth, .jwksMissing, .audienceMissing, .audienceForeign,
            .supabaseReplacesAudience, .supabaseEnabled, .supabaseBesideJWKS, .supabaseSecret, .placeholder:
            settingsAdvice
        case .jwksForeign, .jwksElsewhere, .jwksOnLoopback, .jwksAddressRefused, .environmentName, .environmentNeeded,
            .sharedSecret, .staticKeyForeign, .staticKeyUnnamed, .staticKeyAlone, .curveName:
            keyAdvice
        case .jwksUnreachable, .jwksSlow, .jwksRedirected, .jwksNotFound, .jwksWrongShape, .jwksEmpty,
            .jwksUnnamedKeys, .jwksWithoutOurKey, .jwksPrivate:
            keySetAdvice
        case .endpointMalformed, .endpointHasPath, .endpointInternal, .endpointRedirected, .endpointUnreachable,
            .accessLifetimeShort, .clockSkew:
            surroundingAdvice
        case .tokenWithoutKID, .tokenTooLong, .tokenExpired, .tokenAudience, .tokenMissing, .subjectNotText,
            .claimMissing, .webSocketSaysLittle:
            tokenAdvice
        }
    }

    private var settingsAdvice: String {
        switch self {
        case .configUnreadable: "the file is not there, not mounted, or no YAML that could be read."
        case .noClientAuth:
            "there is no client_auth section: PowerSync refuses every token (is this the file that it runs with?)."
        case .jwksMissing:
            "client_auth names no jwks_uri: every token is refused with PSYNC_S2101, key not in the keystore."
        case .audienceMissing:
            "client_auth names no audience, and the default list is empty: every token is refused with PSYNC_S2105."
        case .audienceForeign:
            "no audience of client_auth is one of SALLYPORT_AUDIENCES, letter by letter: PSYNC_S2105 for every token."
        case .supabaseReplacesAudience:
            "supabase: true replaces client_auth.audience by \"authenticated\": remove it, or every token is PSYNC_S2105."
        case .supabaseEnabled:
            "supabase: true makes PowerSync look for Supabase's keys and audience; ours are in jwks_uri: remove it."
        case .supabaseBesideJWKS:
            "supabase: true and jwks_uri together are two answers to one question: remove supabase."
        case .supabaseSecret: "supabase_jwt_secret checks tokens of Supabase; it checks none of ours and can go."
        case .placeholder: "a value of an example file is still there: put your own in its place."
        default: ""
        }
    }

    private var keyAdvice: String {
        switch self {
        case .jwksForeign: "jwks_uri is not the address of our key set: PSYNC_S2101, key not in the keystore."
        case .jwksElsewhere:
            "jwks_uri has another origin than the issuer: right only if it is this server as seen from PowerSync."
        case .jwksOnLoopback:
            "jwks_uri is on loopback: inside PowerSync's container that is PowerSync itself (PSYNC_S2204)."
        case .jwksAddressRefused:
            "jwks_reject_ip_ranges or block_local_jwks refuses the address of jwks_uri (PSYNC_S2203)."
        case .environmentName: "PowerSync takes variables whose names begin with PS_ alone: !env cannot read this one."
        case .environmentNeeded: "the value comes from the environment: it has to be passed into PowerSync's container."
        case .sharedSecret:
            "a shared secret (HS256) is among the keys: ours are RS256, and whoever has a secret can make tokens."
        case .staticKeyForeign: "a key of client_auth.jwks has a kid or a modulus that is none of ours: PSYNC_S2101."
        case .staticKeyUnnamed: "a key of client_auth.jwks has no kid: ours are found by kid alone."
        case .staticKeyAlone:
            "our key stands in the file and jwks_uri does not: tokens fail at the next rotation of the keys."
        case .curveName: "the curve is called P-521; P-512 is a misspelling that was in the documents for long."
        default: ""
        }
    }

    private var keySetAdvice: String {
        switch self {
        case .jwksUnreachable:
            "the key set cannot be fetched: after 60 minutes PowerSync drops its keys and refuses every token (PSYNC_S2204)."
        case .jwksSlow: "the key set takes longer than 3 s: PowerSync's first token after a start fails (PSYNC_S2204)."
        case .jwksRedirected:
            "the key set is redirected: from http to https PowerSync does not follow (PSYNC_S2204); name the last address."
        case .jwksNotFound: "the address of the key set answers, but not with 200: PSYNC_S2204."
        case .jwksWrongShape:
            "200 with something else than a key set, such as a page of a proxy: PowerSync drops its keys at once, for 5 minutes."
        case .jwksEmpty: "the key set is empty: every token is refused until PowerSync looks again."
        case .jwksUnnamedKeys: "a key of the set has no kid: tokens that name one do not find it (PSYNC_S2101)."
        case .jwksWithoutOurKey:
            "the key that signs is not in the key set that is served there: another server, or an old copy in a cache."
        case .jwksPrivate: "the key set holds private members: whoever reads it can make tokens."
        default: ""
        }
    }

    private var surroundingAdvice: String {
        switch self {
        case .endpointMalformed: "the endpoint has to be an origin such as https://sync.example.com."
        case .endpointHasPath:
            "apps need a bare origin: with a slash at the end the JavaScript SDK throws, with a path the others lose it."
        case .endpointInternal:
            "this name exists inside the containers' network only: the device has to reach the endpoint that apps are given."
        case .endpointRedirected:
            "the endpoint redirects: the Authorization header does not survive that, and PowerSync says PSYNC_S2106."
        case .endpointUnreachable: "PowerSync does not answer there from this machine."
        case .accessLifetimeShort:
            "access tokens shorter than 5 minutes expire while an app sleeps: PSYNC_S2103 at each return, and many fetches."
        case .clockSkew: "two clocks differ by more than 60 s, which is all that PowerSync allows: PSYNC_S2103."
        default: ""
        }
    }

    private var tokenAdvice: String {
        switch self {
        case .tokenWithoutKID: "the token's header names no kid: only keys without a kid are tried (PSYNC_S2101)."
        case .tokenTooLong:
            "exp - iat is more than 86400 s: PSYNC_S2104. Milliseconds in the place of seconds do that too."
        case .tokenExpired:
            "the token has expired: an app that comes back from the background fetches a new one; an SDK that sends the dead "
                + "one again is too old (JavaScript before July 2026, Dart for the web before March 2025)."
        case .tokenAudience: "the token's aud holds no audience of client_auth: PSYNC_S2105."
        case .tokenMissing:
            "no token arrived (PSYNC_S2106): a redirect or a proxy lost the Authorization header, or it says bearer in small letters."
        case .subjectNotText:
            "sub is not a text: sync rules compare it as what it is, and a number never equals a text or uuid column."
        case .claimMissing:
            "a claim that PowerSync requires (sub, aud, iat, exp) is missing or of the wrong kind: PSYNC_S2101."
        case .webSocketSaysLittle:
            "\"Authentication required\" is all that WebSockets said before PowerSync 1.13.3: update it to see the reason."
        default: ""
        }
    }
}
