import JSON

/// What goes wrong between a token server and PowerSync: each way that was met in the field, with its name, what to do,
/// and what PowerSync says then.
package enum PowerSyncFault: String, CaseIterable, Sendable {
    case configUnreadable = "config_unreadable"
    case noClientAuth = "no_client_auth"
    case jwksMissing = "jwks_missing"
    case audienceMissing = "audience_missing"
    case audienceForeign = "audience_foreign"
    case supabaseReplacesAudience = "supabase_replaces_audience"
    case supabaseEnabled = "supabase_enabled"
    case supabaseBesideJWKS = "supabase_beside_jwks"
    case supabaseSecret = "supabase_secret"
    case jwksForeign = "jwks_foreign"
    case jwksElsewhere = "jwks_elsewhere"
    case jwksOnLoopback = "jwks_on_loopback"
    case jwksAddressRefused = "jwks_address_refused"
    case environmentName = "environment_name"
    case environmentNeeded = "environment_needed"
    case placeholder = "placeholder"
    case sharedSecret = "shared_secret"
    case staticKeyForeign = "static_key_foreign"
    case staticKeyUnnamed = "static_key_unnamed"
    case staticKeyAlone = "static_key_alone"
    case curveName = "curve_name"

    case jwksUnreachable = "jwks_unreachable"
    case jwksSlow = "jwks_slow"
    case jwksRedirected = "jwks_redirected"
    case jwksNotFound = "jwks_not_found"
    case jwksWrongShape = "jwks_wrong_shape"
    case jwksEmpty = "jwks_empty"
    case jwksUnnamedKeys = "jwks_unnamed_keys"
    case jwksWithoutOurKey = "jwks_without_our_key"
    case jwksPrivate = "jwks_private"

    case endpointMalformed = "endpoint_malformed"
    case endpointHasPath = "endpoint_has_path"
    case endpointInternal = "endpoint_internal"
    case endpointRedirected = "endpoint_redirected"
    case endpointUnreachable = "endpoint_unreachable"
    case accessLifetimeShort = "access_lifetime_short"
    case clockSkew = "clock_skew"

    case tokenWithoutKID = "token_without_kid"
    case tokenTooLong = "token_lives_too_long"
    case tokenExpired = "token_expired"
    case tokenAudience = "token_audience"
    case tokenMissing = "token_missing"
    case subjectNotText = "subject_not_text"
    case claimMissing = "claim_missing"
    case webSocketSaysLittle = "websocket_says_little"

    /// A fault refuses tokens now; a warning may, or only in some places.
    package var isWarning: Bool {
        switch self {
        case .jwksElsewhere, .jwksOnLoopback, .environmentNeeded, .staticKeyAlone, .accessLifetimeShort,
            .endpointUnreachable, .webSocketSaysLittle, .supabaseSecret:
            true
        default: false
        }
    }
}

/// A fault as it was met.
package struct PowerSyncFinding: Equatable, Sendable {
    package let fault: PowerSyncFault
    /// What exactly: a name, an address, a number. Safe to show.
    package let detail: String

    package init(_ fault: PowerSyncFault, _ detail: String = "") {
        self.fault = fault
        self.detail = detail
    }

    package var sentence: String { (detail.isEmpty ? "" : shown(detail) + ": ") + fault.advice }
}
