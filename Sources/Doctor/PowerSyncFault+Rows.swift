/// PowerSync's configuration.
extension PowerSyncFault {
    static let configUnreadable = fault(
        "config_unreadable", "the file is not there, not mounted, or larger than 1 MiB.")
    static let configMalformed = fault("config_malformed", "PowerSync does not start with this file.")
    static let valueKind = fault("value_kind", "PowerSync checks the kinds of its values and does not start.")
    static let noClientAuth = fault(
        "no_client_auth",
        "there is no client_auth section: PowerSync refuses every token (is this the file that it runs with?).")
    static let jwksMissing = fault(
        "jwks_missing",
        "client_auth has neither a jwks_uri nor a key of ours: every token is refused with PSYNC_S2101, key not in the keystore."
    )
    static let audienceMissing = fault(
        "audience_missing",
        "client_auth names no audience, and the default list is empty: every token is refused with PSYNC_S2105.")
    static let audienceForeign = fault(
        "audience_foreign",
        "no audience of client_auth is one of SALLYPORT_AUDIENCES, letter by letter: PSYNC_S2105 for every token.")
    static let audienceOpen = warning(
        "audience_open",
        "tokens of unverified users have this audience too, so PowerSync lets them in: name one that is withheld from them "
            + "(SALLYPORT_GATED_AUDIENCES).")
    static let supabaseEnabled = warning(
        "supabase_enabled",
        "supabase: true adds the keys of a Supabase project, whose tokens PowerSync then takes as well; ours do not need it."
    )
    static let supabaseSecret = warning(
        "supabase_secret", "supabase_jwt_secret checks tokens of Supabase; it checks none of ours and can go.")
    static let placeholder = fault(
        "placeholder", "a value of an example file is still there: put your own in its place.")
    static let environmentName = fault(
        "environment_name", "PowerSync takes variables whose names begin with PS_ alone, and does not start.")
    static let environmentKind = fault(
        "environment_kind",
        "!env converts by ::number, ::boolean (true or false) or ::string; PowerSync does not start with anything else."
    )
    static let environmentNeeded = warning(
        "environment_needed",
        "the value comes from the environment: it has to be passed into PowerSync's container, and is judged here only if it "
            + "is set for this command too.")
}

/// The keys that the configuration names.
extension PowerSyncFault {
    static let jwksAddressMalformed = fault(
        "jwks_uri_malformed",
        "jwks_uri has to be an http or https address without a user in it; with another one PowerSync does not start or "
            + "cannot fetch the keys (PSYNC_S3102, PSYNC_S3103).")
    static let jwksForeign = fault(
        "jwks_foreign",
        "jwks_uri is not the address of our key set: PSYNC_S2101, key not in the keystore, or PSYNC_S2204.")
    static let jwksElsewhere = warning(
        "jwks_elsewhere",
        "jwks_uri has another origin than the issuer: right only if it is this server as seen from PowerSync.")
    static let jwksOnLoopback = warning(
        "jwks_on_loopback",
        "jwks_uri is on loopback: inside PowerSync's container that is PowerSync itself (PSYNC_S2204).")
    static let jwksAddressRefused = fault(
        "jwks_address_refused",
        "jwks_reject_ip_ranges or block_local_jwks refuses the address of jwks_uri (PSYNC_S2202, PSYNC_S2203).")
    static let rejectRangeMalformed = fault(
        "reject_range_malformed", "jwks_reject_ip_ranges takes local and blocks such as 10.0.0.0/8 alone.")
    static let sharedSecret = warning(
        "shared_secret",
        "a shared secret (HS256) is among the keys: ours are RS256, and a holder of the secret can make tokens.")
    static let staticKeyForeign = warning(
        "static_key_foreign",
        "a key of client_auth.jwks is none of ours, by its kid or its modulus: it verifies no token of ours.")
    static let staticKeyAlone = warning(
        "static_key_alone",
        "our key stands in the file and jwks_uri does not: tokens fail at the next rotation of the keys.")
    static let curveName = fault(
        "curve_name", "the curve is called P-521; P-512 is a misspelling that was in the documents for long.")
}

/// The key set as it is served.
extension PowerSyncFault {
    static let jwksUnreachable = fault(
        "jwks_unreachable",
        "the key set cannot be fetched: after 60 minutes PowerSync drops its keys and refuses every token (PSYNC_S2204)."
    )
    static let jwksSlow = fault(
        "jwks_slow", "the key set takes longer than 3 s: PowerSync's first token after a start fails (PSYNC_S2204).")
    static let jwksRedirected = fault(
        "jwks_redirected",
        "the key set is redirected: from http to https PowerSync does not follow (PSYNC_S2204); name the last address.")
    static let jwksNotFound = fault(
        "jwks_not_found", "the address of the key set answers, but not with 200: PSYNC_S2204.")
    static let jwksWrongShape = fault(
        "jwks_wrong_shape",
        "200 with something else than a key set, such as a page of a proxy: PowerSync drops its keys at once, for 5 minutes."
    )
    static let jwksEmpty = fault(
        "jwks_empty", "the key set is empty: every token is refused until PowerSync looks again.")
    static let jwksUnnamedKeys = fault(
        "jwks_unnamed_keys", "a key of the set has no kid: tokens that name one do not find it (PSYNC_S2101).")
    static let jwksWithoutOurKey = fault(
        "jwks_without_our_key",
        "the key that signs is not in the key set that is served there: another server, or an old copy in a cache.")
    static let jwksPrivate = fault(
        "jwks_private", "the key set holds private members: anyone who reads it can make tokens.")
    package static let publishLeadShort = warning(
        "publish_lead_short",
        "PowerSync may judge by a key set that is an hour old: under 65 minutes the first token of a new key can be refused "
            + "once with PSYNC_S2101.")
}

/// The addresses and clocks around it.
extension PowerSyncFault {
    static let endpointMalformed = fault(
        "endpoint_malformed", "the endpoint has to be an origin such as https://sync.example.com.")
    static let endpointHasPath = fault(
        "endpoint_has_path",
        "apps need a bare origin: with a slash at the end the JavaScript SDK throws, a path or a query is lost by the others."
    )
    static let endpointInternal = fault(
        "endpoint_internal",
        "this name exists inside the containers' network only: the device has to reach the endpoint that apps are given."
    )
    static let endpointLocal = warning(
        "endpoint_local",
        "this address is this machine's or a private network's own: a device elsewhere does not reach it.")
    static let endpointPlain = warning(
        "endpoint_plain",
        "http without TLS shows each token to the network, and iOS and Android refuse it by default; it was not asked.")
    static let endpointRedirected = fault(
        "endpoint_redirected",
        "the endpoint redirects: the Authorization header does not survive that, and PowerSync says PSYNC_S2106.")
    static let endpointBroken = fault(
        "endpoint_broken",
        "what answers there says that it does not work: PowerSync behind the proxy is down or starting.")
    static let endpointUnreachable = warning(
        "endpoint_unreachable", "PowerSync does not answer there from this machine.")
    static let accessLifetimeShort = warning(
        "access_lifetime_short",
        "access tokens shorter than 5 minutes expire while an app sleeps: PSYNC_S2103 at each return, and many fetches."
    )
    package static let clockSkew = fault(
        "clock_skew", "two clocks differ by more than 60 s, which is all that PowerSync allows: PSYNC_S2103.")
}

/// Tokens.
extension PowerSyncFault {
    static let tokenMalformed = fault(
        "token_malformed",
        "what arrived is not a JSON Web Token of three parts: a session token, an encrypted token, or one that was cut "
            + "(PSYNC_S2101). `sallyport token inspect` says which.")
    static let tokenWithoutKID = fault(
        "token_without_kid", "the token's header names no kid: only keys without a kid are tried (PSYNC_S2101).")
    static let tokenAlgorithm = fault(
        "token_algorithm",
        "the token's algorithm is not the key's, or none that PowerSync takes (PSYNC_S2101): a token of another server."
    )
    static let tokenSignature = fault(
        "token_signature",
        "the signature does not fit the key of its kid (PSYNC_S2101): a changed token, or two keys under one kid.")
    static let tokenParameters = fault(
        "token_parameters", "the claim parameters has to be an object where there is one (PSYNC_S2101).")
    static let tokenTooLong = fault(
        "token_lives_too_long",
        "exp - iat is more than 86400 s: PSYNC_S2104. Milliseconds in the place of seconds do that too.")
    static let tokenExpired = fault(
        "token_expired",
        "the token has expired: an app that comes back from the background fetches a new one; an SDK that sends the dead "
            + "one again is too old (JavaScript before July 2026, Dart for the web before March 2025).")
    static let tokenAudience = fault("token_audience", "the token's aud holds no audience of client_auth: PSYNC_S2105.")
    static let tokenMissing = fault(
        "token_missing",
        "no token arrived (PSYNC_S2106): a redirect or a proxy lost the Authorization header, or it says bearer in small letters."
    )
    static let subjectNotText = fault(
        "subject_not_text",
        "sub is not a text: sync rules compare it as what it is, and a number never equals a text or uuid column.")
    static let claimMissing = fault(
        "claim_missing",
        "a claim that PowerSync requires (sub, aud, iat, exp) is missing or of the wrong kind, or nbf is more than 60 s ahead: "
            + "PSYNC_S2101.")
    static let webSocketSaysLittle = warning(
        "websocket_says_little",
        "\"Authentication required\" is all that WebSockets said before PowerSync 1.13.3: update it to see the reason.")
}
