/// Why the server answers by itself, before or instead of asking the application. The connection ends after each.
package enum HTTPRefusal: Error, Hashable, Sendable {
    /// The bytes are not a request that is taken.
    case unacceptable(HTTPParseError)
    /// The request did not arrive within its deadline.
    case tooSlow
    /// All connections that the process takes are in use.
    case overloaded

    package var status: HTTPStatus {
        switch self {
        case .unacceptable(let error): error.status
        case .tooSlow: .requestTimeout
        case .overloaded: .serviceUnavailable
        }
    }
}

/// What answers requests. Called on the connection's loop, from many loops at once.
package protocol HTTPApplication: Sendable {
    func respond(to request: HTTPRequest) async -> HTTPResponse

    /// The application's own shape for an error that it never sees as a request. Nothing of the input is in it.
    func refuse(_ refusal: HTTPRefusal) -> HTTPResponse
}
