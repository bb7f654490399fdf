import AuthDomain
package import HTTP
package import Telemetry

/// One endpoint: what it is called, what it takes, how it may fail, and what it does.
///
/// The pipeline reads it (access, content types, error writing, log line), and so can anything that describes the API.
package struct Route: Sendable {
    /// The operation's name, in lower camel case and unique.
    package let operation: String
    package let method: HTTPMethod
    package let pattern: RoutePattern
    package let summary: String
    /// Media types of the content, without parameters; empty where content is not looked at.
    package let accepts: [String]
    package let inputs: [RouteInput]
    let answers: [RouteAnswer]
    /// Beside those that the pipeline adds (`allErrors`).
    package let errors: [APIErrorCode]
    package let credentialPlace: CredentialPlace
    /// Of an answer that is no refusal.
    package let level: Logger.Level
    /// Known from the path.
    package let area: PathArea
    let handler: Handler

    /// What an endpoint needs to be proved before it runs; the kind of its function says it, so that none can forget.
    enum Handler: Sendable {
        case open(@Sendable (APIRequest) async throws(APIFailure) -> HTTPResponse)
        /// A session token of the identity store, as presented; the operation proves it.
        case session(@Sendable (APIRequest, String) async throws(APIFailure) -> HTTPResponse)
        /// A live access token of ours.
        case caller(@Sendable (APIRequest, Caller) async throws(APIFailure) -> HTTPResponse)
        /// A service that the operator has named.
        case resourceServer(@Sendable (APIRequest) async throws(APIFailure) -> HTTPResponse)
    }

    package enum Access: String, Sendable {
        case `public`
        case sessionToken = "session_token"
        case accessToken = "access_token"
        case resourceServer = "resource_server"
    }

    init(
        _ operation: String, _ method: HTTPMethod, _ pattern: RoutePattern, _ summary: String,
        accepts: [String] = [], inputs: [RouteInput] = [], answers: [RouteAnswer] = [.noContent],
        errors: [APIErrorCode] = [],
        credentialPlace: CredentialPlace = .authorization, level: Logger.Level = .info, handler: Handler
    ) {
        self.operation = operation
        self.method = method
        self.pattern = pattern
        area = PathArea(pattern.text.utf8)
        self.summary = summary
        self.accepts = accepts
        self.inputs = inputs
        self.answers = answers
        self.errors = errors
        self.credentialPlace = credentialPlace
        self.level = level
        self.handler = handler
    }

    package var access: Access {
        switch handler {
        case .open: .public
        case .session: .sessionToken
        case .caller: .accessToken
        case .resourceServer: .resourceServer
        }
    }

    /// All that the endpoint may answer, with what the pipeline refuses before it.
    package var allErrors: [APIErrorCode] {
        var all = errors
        switch access {
        case .public: break
        case .sessionToken: all += [.rejected(.tokenMissing), .rejected(.tokenConflict)]
        case .resourceServer: all += [.rejected(.clientUnknown), .rejected(.tokenConflict)]
        case .accessToken:
            all += [.rejected(.tokenMissing), .rejected(.tokenConflict), .unavailable(.dependency)]
            all += [.refused(.tokenMalformed), .refused(.tokenForeign), .refused(.accessExpired)]
            all += [.refused(.accessRevoked)]
        }
        if area == .auth { all.append(.rejected(.rateLimited)) }
        if !accepts.isEmpty { all.append(.rejected(.mediaTypeUnsupported)) }
        return all
    }
}

/// Something that an endpoint reads, for whoever describes the API.
package struct RouteInput: Equatable, Sendable {
    package enum Place: String, Sendable {
        case path, query, header, content
    }

    package enum Kind: String, Sendable {
        case string, boolean, integer
    }

    package let name: String
    package let place: Place
    package let kind: Kind
    package let isRequired: Bool
    /// The only values that it may have; empty where there are too many to name.
    package let values: [String]
    /// What its name does not say, as a sentence.
    package let about: String

    init(
        _ name: String, _ place: Place, _ kind: Kind = .string, isRequired: Bool = false, values: [String] = [],
        about: String = ""
    ) {
        self.name = name
        self.place = place
        self.kind = kind
        self.isRequired = isRequired
        self.values = values
        self.about = about
    }
}
