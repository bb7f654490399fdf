/// Why there was no answer; each description is a sentence for an operator.
package enum OutboundError: Error, Equatable, Sendable, CustomStringConvertible {
    case nameUnknown
    case unreachable
    case timedOut
    /// The certificate is expired, for another name, or of an authority that this machine does not know.
    case certificateRefused
    /// There is no list of certificate authorities to verify by.
    case authoritiesMissing
    case tlsFailed
    case tooLarge
    case failed(code: Int32)

    package var description: String {
        switch self {
        case .nameUnknown: "the host name is not known to the resolver of this machine"
        case .unreachable: "nothing accepts connections there"
        case .timedOut: "no answer within the time limit"
        case .authoritiesMissing:
            "this machine has no list of certificate authorities; Debian's package ca-certificates brings it"
        case .certificateRefused:
            "the certificate is expired, for another name, or of an authority that this machine does not know"
        case .tlsFailed: "TLS could not be agreed on"
        case .tooLarge: "the answer is larger than 1 MiB"
        case .failed(let code): "the transfer failed (libcurl \(code))"
        }
    }
}
