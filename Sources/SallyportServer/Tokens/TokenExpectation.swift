import AuthDomain
import Crypto
import JOSE
import JSON
import Primitives

/// What a token is held to, and the sentence for each way not to meet it.
struct TokenExpectation {
    /// `nil` where nobody said: then it is not compared.
    var issuer: String?
    /// Empty where nobody said.
    var audiences: [String] = []
    let keys: VerificationKeys
    let now: Timestamp

    enum Kind {
        case access, refresh, verdict, other

        init(_ type: String?) {
            switch type?.lowercased() {
            case "at+jwt", "application/at+jwt", "jwt", "application/jwt": self = .access
            case "rt+jwt", "application/rt+jwt": self = .refresh
            case "verdict+jwt", "application/verdict+jwt": self = .verdict
            default: self = .other
            }
        }

        var name: String {
            switch self {
            case .access: "access token"
            case .refresh: "refresh token"
            case .verdict: "verdict proof"
            case .other: "token that is none of this server's kinds"
            }
        }
    }

    /// `nil`: it is good.
    func fault(of token: TokenText) -> String? {
        let kind = Kind(token.jws.type)
        do throws(JOSEError) {
            if kind == .verdict {
                // A verdict has neither audience nor end: the signature is all there is to prove.
                try token.jws.verifySignature { keys.key($0, kind) }
            } else {
                _ = try JWTVerifier.verify(
                    token.jws, keys: { keys.key($0, kind) }, policy: policy(token, kind), now: now)
            }
            return nil
        } catch {
            return sentence(error, token, kind)
        }
    }

    private func policy(_ token: TokenText, _ kind: Kind) -> JWTPolicy {
        let issuers = issuer ?? token.claims["iss"]?.stringValue
        var audiences = audiences
        if kind == .refresh { audiences = issuers.map { [$0 + "/auth/token"] } ?? [] }
        if audiences.isEmpty { audiences = Self.audiences(of: token) }
        return JWTPolicy(
            type: kind == .other ? .oneOf(["at+jwt"]) : .any, issuers: issuers.map { [$0] } ?? [], audiences: audiences,
            leeway: .zero)
    }

    static func audiences(of token: TokenText) -> [String] {
        token.claims["aud"]?.arrayValue?.compactMap(\.stringValue)
            ?? token.claims["aud"]?.stringValue.map { [$0] } ?? []
    }

    private func sentence(_ error: JOSEError, _ token: TokenText, _ kind: Kind) -> String {
        switch error {
        case .malformed: return "Its claims are no JSON object that a token may have."
        case .algorithmNotAllowed:
            return "It is signed with \(shown(token.jws.algorithm)); this server signs with RS256 alone."
        case .unknownKey(let kid): return unknownKey(kid, kind)
        case .signatureInvalid:
            return "The signature does not fit the key of its kid: the token was changed after it was signed, or "
                + "signed by another key under the same name."
        case .typeMismatch:
            let type = token.jws.type.map { "its typ is \(shown($0))" } ?? "it has no typ"
            return "It is no access token: \(type), and an access token of this server has at+jwt or JWT."
        case .issuerMismatch: return issuerMismatch(token)
        case .audienceMismatch: return audienceMismatch(token, kind)
        case .expired: return expired(token)
        case .notYetValid:
            return "It is from the future (iat or nbf is more than 60 s ahead of this machine's clock): one of the two "
                + "clocks is wrong."
        case .claimInvalid(let name): return invalid(name, token)
        }
    }

    private func unknownKey(_ kid: String, _ kind: Kind) -> String {
        if kind == .refresh, !keys.isDatabase {
            return "Refresh tokens are signed by keys that are not published: only the database can prove them."
        }
        if kind == .verdict, !keys.isDatabase {
            return
                "Verdicts are signed by keys that are not in the key set: a client checks them by its stored verdict_key."
        }
        let known = keys.kids.isEmpty ? "no usable key" : keys.kids.map(shown).joined(separator: ", ")
        return
            "No key has its kid \(shown(kid)); \(keys.source) has \(known). Another server signed it, or the key has been "
            + "removed, or these keys are an old copy."
    }

    private func issuerMismatch(_ token: TokenText) -> String {
        guard let found = token.claims["iss"]?.stringValue else { return "It names no issuer (iss)." }
        guard let issuer else { return "Its issuer is malformed." }
        let hint = Self.differInSlash(found, issuer) ? " They differ in the slash at the end, which counts." : ""
        return "Its issuer is \(shown(found)) and not \(shown(issuer)).\(hint)"
    }

    private func audienceMismatch(_ token: TokenText, _ kind: Kind) -> String {
        let found = Self.audiences(of: token)
        if found.isEmpty { return "It is for nobody: the claim aud is missing or empty." }
        let wanted = kind == .refresh ? [(issuer ?? "") + "/auth/token"] : audiences
        let isSlash = found.contains { one in wanted.contains { Self.differInSlash(one, $0) } }
        return "It is for \(found.map(shown).joined(separator: ", ")) and not for "
            + "\(wanted.map(shown).joined(separator: " or "))."
            + (isSlash ? " They differ in the slash at the end, which counts." : "")
    }

    private static func differInSlash(_ one: String, _ other: String) -> Bool {
        areIdentical(one + "/", other) || areIdentical(one, other + "/")
    }

    private func expired(_ token: TokenText) -> String {
        guard let end = token.claims["exp"]?.integerValue else { return "It has expired." }
        let instant = Timestamp(secondsSinceEpoch: end)
        return "It expired \(Self.span(now - instant)) ago, at \(instant.rfc3339)."
    }

    private func invalid(_ name: String, _ token: TokenText) -> String {
        guard let value = token.claims[name] else { return "The claim \(name) is missing." }
        if ["exp", "iat", "nbf"].contains(name) {
            if value.stringValue != nil { return "The claim \(name) is a text; it has to be a number of seconds." }
            if let number = value.integerValue, number > 100_000_000_000 {
                return "The claim \(name) is in milliseconds; it has to be in seconds."
            }
            if name == "exp" { return "It ends before it begins: exp is not after iat." }
        }
        if name == "sub" { return "The claim sub is empty or no text: verifiers would see another user, or none." }
        return "The claim \(name) is of the wrong kind."
    }

    /// `90 s`, `5 min`, `3 h`, `12 d`: as exact as a person asks.
    static func span(_ duration: Duration) -> String {
        let seconds = duration.wholeSeconds
        switch seconds {
        case ..<120: return "\(seconds) s"
        case ..<7_200: return "\(seconds / 60) min"
        case ..<172_800: return "\(seconds / 3_600) h"
        default: return "\(seconds / 86_400) d"
        }
    }
}
