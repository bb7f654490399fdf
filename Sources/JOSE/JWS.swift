package import Crypto
package import JSON
import Primitives

/// Making a JWS in compact form: the signature between the two steps is the signer's.
package enum JWS {
    /// `base64url(header).base64url(claims)`, what a signature covers. Source: RFC 7515 §5.1.
    package static func signingInput(header: JSONObject, claims: JSONObject) -> [UInt8] {
        var input = Base64URL.encodedBytes(header.encoded())
        input.append(UInt8(ascii: "."))
        input.append(contentsOf: Base64URL.encodedBytes(claims.encoded()))
        return input
    }

    package static func compact(signingInput: [UInt8], signature: [UInt8]) -> String {
        var text = signingInput
        text.append(UInt8(ascii: "."))
        text.append(contentsOf: Base64URL.encodedBytes(signature))
        return String(decoding: text, as: UTF8.self)
    }
}

/// The header of a token that we sign.
package struct JWTHeader: Equatable, Sendable {
    /// The kind of token, such as `at+jwt`. Source: RFC 8725 §3.11.
    package let type: String
    package let kid: String
    /// Of the key that signs.
    package let algorithm: SignatureAlgorithm

    package init(type: String, kid: String, algorithm: SignatureAlgorithm = .rs256) {
        self.type = type
        self.kid = kid
        self.algorithm = algorithm
    }

    package var json: JSONObject {
        ["alg": .string(algorithm.rawValue), "typ": .string(type), "kid": .string(kid)]
    }
}
