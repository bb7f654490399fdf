package import Reactor

/// Why a certificate and its key cannot be served. Whoever set them reads the description; it holds nothing of either.
package enum CertificateError: Error, Equatable, Sendable, CustomStringConvertible {
    case certificateUnreadable
    case certificateMalformed
    /// Under 112 bits of security: a short RSA key, or a signature with SHA-1.
    case certificateWeak
    case keyUnreadable
    case keyMalformed
    /// The key is another certificate's.
    case keyMismatched
    /// libssl could not do it, which happens for want of memory.
    case unavailable

    package var description: String {
        switch self {
        case .certificateUnreadable: "the certificate file cannot be read"
        case .certificateMalformed: "the file does not hold a certificate in PEM, followed by its chain"
        case .certificateWeak:
            "the certificate is too weak: RSA of 2048 bits or P-256, signed with SHA-256, is the least"
        case .keyUnreadable: "the key file cannot be read"
        case .keyMalformed: "the file does not hold one private key in PEM without a pass phrase"
        case .keyMismatched: "the key does not belong to the certificate"
        case .unavailable: "TLS cannot be set up"
        }
    }

    /// Whether the key file is the one to look at.
    package var isAboutKey: Bool {
        switch self {
        case .keyUnreadable, .keyMalformed, .keyMismatched: true
        case .certificateUnreadable, .certificateMalformed, .certificateWeak, .unavailable: false
        }
    }
}

/// Why a connection did not become a TLS connection.
package enum HandshakeError: Error, Equatable, Sendable {
    /// The client speaks HTTP without TLS. Nothing was sent: an answer in plain text is understood.
    case plainRequest
    /// The client and we have nothing in common, or it broke the protocol; with libssl's word for it.
    case refused(String)
    case socket(SocketError)
}
