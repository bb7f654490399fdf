/// Why the bytes are not a request that is taken. After each the connection's framing is lost: answer and close.
package enum HTTPParseError: Error, Hashable, Sendable {
    /// 400. The part says where, for a log line; a client is told no more than the status.
    case malformed(Part)
    /// 413: the body, or what its chunks cost beside it, is over the limit.
    case bodyTooLarge
    /// 414: the request line is over the limit.
    case targetTooLong
    /// 417: an expectation other than `100-continue`.
    case expectationUnknown
    /// 431: the fields are too many or too long.
    case fieldsTooLarge
    /// 501: CONNECT, or a transfer coding other than `chunked`.
    case notImplemented
    /// 505: a major version other than 1.
    case versionUnsupported

    package enum Part: String, Hashable, Sendable {
        case requestLine
        case target
        case field
        case host
        /// The length of the body is ambiguous or no number.
        case framing
        case chunk
        /// A field came twice that has one value.
        case repeatedField
    }

    package var status: HTTPStatus {
        switch self {
        case .malformed: .badRequest
        case .bodyTooLarge: .contentTooLarge
        case .targetTooLong: .uriTooLong
        case .expectationUnknown: .expectationFailed
        case .fieldsTooLarge: .requestHeaderFieldsTooLarge
        case .notImplemented: .notImplemented
        case .versionUnsupported: .httpVersionNotSupported
        }
    }
}
