package import Crypto
package import JSON
import Primitives

/// A well-formed JWS in compact form of which nothing is proved yet.
///
/// ```
/// eyJhbGciOiJSUzI1NiIsImtpZCI6Ii4uLiJ9 . eyJpc3MiOiIuLi4ifQ . MRjdkly7…
/// header, base64url of a JSON object     payload, any bytes    signature
/// ```
///
/// Source: RFC 7515 §3.1, §5.2, §7.1.
package struct UnverifiedJWS: Sendable {
    package let header: JSONObject
    package let algorithm: String
    package let kid: String?
    /// The header's `typ` as written.
    package let type: String?
    /// May be empty.
    package let payload: [UInt8]
    /// What the signature covers: the first two parts as they were sent, with their dot.
    package let signingInput: [UInt8]
    package let signature: [UInt8]

    /// - Throws: `malformed`, also for `crit` (we understand no extension, RFC 7515 §4.1.11), for `b64` (RFC 7797) and
    ///   `zip`, and for a `kid` that is no text of 1 to 256 bytes without control characters.
    package init(_ text: String) throws(JOSEError) {
        // The limit comes before any work, dots are counted before any decoding: CVE-2025-30204.
        guard text.utf8.count <= tokenBytesMax else { throw .malformed }
        let bytes = Array(text.utf8)
        let parts = bytes.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[0].isEmpty, !parts[2].isEmpty,
            let headerText = Base64URL.decode(parts[0]),
            let payload = Base64URL.decode(parts[1]),
            let signature = Base64URL.decode(parts[2])
        else { throw .malformed }
        let header = try JSONObject(untrusted: headerText, limits: tokenJSONLimits)
        guard header["crit"] == nil, header["b64"] == nil, header["zip"] == nil,
            let algorithm = header["alg"]?.stringValue
        else { throw .malformed }

        self.header = header
        self.algorithm = algorithm
        kid = try header.optionalText("kid")
        type = try header.optionalText("typ")
        self.payload = payload
        signingInput = Array(bytes[..<parts[1].endIndex])
        self.signature = signature
        if let kid {
            guard (1...keyIDBytesMax).contains(kid.utf8.count), kid.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f })
            else { throw .malformed }
        }
    }

    /// Proves the signature, by a key that `keys` finds for the header's `kid`.
    ///
    /// Keys in or behind the header (`jwk`, `jku`, `x5c`, `x5u`) are never looked at.
    ///
    /// - Parameter algorithms: what the caller takes; our own tokens have RS256.
    /// - Throws: `algorithmNotAllowed`, also where the key is of another algorithm; `malformed` without a `kid`, `unknownKey`, `signatureInvalid`.
    package func verifySignature(
        algorithms: Set<SignatureAlgorithm> = [.rs256], keys: (_ kid: String) -> VerificationKey?
    ) throws(JOSEError) {
        // RFC 8725 §3.1: the algorithm is ours to choose, and one for each key; the header may only agree.
        guard let stated = SignatureAlgorithm(exactly: algorithm), algorithms.contains(stated) else {
            throw .algorithmNotAllowed
        }
        guard let kid else { throw .malformed }
        guard let key = keys(kid) else { throw .unknownKey(kid: kid) }
        guard key.algorithm == stated else { throw .algorithmNotAllowed }
        guard key.isValidSignature(signature, of: signingInput) else { throw .signatureInvalid }
    }
}

extension SignatureAlgorithm {
    /// `String` compares by canonical equivalence; a header is compared byte by byte.
    init?(exactly text: String) {
        guard let known = Self.allCases.first(where: { areIdentical($0.rawValue, text) }) else { return nil }
        self = known
    }
}

extension JSONObject {
    /// - Throws: `malformed` for everything but one JSON object.
    init(untrusted bytes: [UInt8], limits: JSONLimits) throws(JOSEError) {
        guard let value = try? JSONParser.parse(bytes, limits: limits), let object = value.objectValue
        else { throw .malformed }
        self = object
    }

    fileprivate func optionalText(_ name: String) throws(JOSEError) -> String? {
        guard let value = self[name] else { return nil }
        guard let text = value.stringValue else { throw .malformed }
        return text
    }
}

extension UnverifiedJWS: CustomStringConvertible, CustomReflectable {
    /// Whoever reads a token in a log can use it.
    package var description: String { "[token]" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
