/// Why the server answers by itself, before or instead of asking the application. The connection ends after each.
///
/// A request that misses its deadline is none of them: its connection is closed without an answer, as RFC 9110 §15.5.9
/// leaves to the server, because a deadline ends both directions of a socket.
package enum HTTPRefusal: Error, Hashable, Sendable {
    /// The bytes are not a request that is taken.
    case unacceptable(HTTPParseError)
    /// All connections that the process takes are in use.
    case overloaded

    package var status: HTTPStatus {
        switch self {
        case .unacceptable(let error): error.status
        case .overloaded: .serviceUnavailable
        }
    }
}

/// What answers requests. Called on the connection's loop, from many loops at once.
package protocol HTTPApplication: Sendable {
    func respond(to request: HTTPRequest) async -> HTTPResponse

    /// The application's own shape for an error that it never sees as a request. Nothing of the input is in it.
    func refuse(_ refusal: HTTPRefusal) -> HTTPResponse

    /// The same where a head was good and its content is not taken. `request` is without content.
    func refuse(_ refusal: HTTPRefusal, of request: HTTPRequest) -> HTTPResponse
}

extension HTTPApplication {
    package func refuse(_ refusal: HTTPRefusal, of request: HTTPRequest) -> HTTPResponse { refuse(refusal) }
}
