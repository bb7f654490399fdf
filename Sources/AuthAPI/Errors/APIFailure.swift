import AuthDomain
import HTTP
import JSON
import Primitives

/// How an endpoint fails: a row of the catalogue, and what is known beside it.
///
/// Translations have a label: without it `.notFound` could mean another enum's case, and the translation itself.
struct APIFailure: Error {
    let code: APIErrorCode
    /// Of the domain's verdict; the row's own otherwise.
    var action: ClientAction?
    var sessionID: String?
    var deviceID: UUID?
    var proof: String?
    /// A sentence of ours in the place of the row's: never text of the client's.
    var sentence: String?
    var allowedMethods: [HTTPMethod] = []
    /// Of a request that was turned away before any work.
    var shortage: Shortage?
    /// How long it takes until the same request may pass, where that is known.
    var wait: Duration?
    /// Members behind the common ones.
    var members = JSONObject()

    init(_ code: APIErrorCode, sentence: String? = nil) {
        self.code = code
        self.sentence = sentence
    }

    init(_ problem: RequestProblem, _ sentence: String? = nil) {
        self.init(.rejected(problem), sentence: sentence)
    }

    init(verdict refusal: Refusal) {
        self.init(.refused(refusal.reason))
        action = refusal.action
        sessionID = refusal.sessionID
        deviceID = refusal.deviceID
        proof = refusal.proof
    }

    init(translating failure: AuthFailure) {
        switch failure {
        case .refused(let refusal): self.init(verdict: refusal)
        case .unavailable(let cause): self.init(.unavailable(cause))
        case .invalid(let fault): self.init(translating: fault)
        case .limited(let wait): self.init(.sessionRate, wait: wait)
        case .devicesFull(let wait):
            self.init(.rateLimited, "The user has too many devices that are in use; wait, or revoke one.")
            self.wait = wait
        case .notFound: self.init(.notFound)
        }
    }

    init(translating fault: RequestFault) {
        switch fault {
        case .scopeInvalid: self.init(.scopeInvalid)
        case .deviceMalformed(let field): self.init(.deviceMalformed, "The \(field) is malformed.")
        case .idempotencyKeyMalformed:
            self.init(.malformed, "The idempotency key is not 16 to 128 of A-Z, a-z, 0-9, dot, underscore and hyphen.")
        }
    }

    init(translating refusal: HTTPRefusal) {
        switch refusal {
        case .overloaded: self.init(.connections)
        case .unacceptable(let error):
            switch error {
            case .malformed: self.init(.malformed)
            case .bodyTooLarge: self.init(.contentTooLarge)
            case .targetTooLong: self.init(.targetTooLong)
            case .expectationUnknown: self.init(.expectationUnknown)
            case .fieldsTooLarge: self.init(.fieldsTooLarge)
            case .notImplemented: self.init(.notImplemented)
            case .versionUnsupported: self.init(.versionUnsupported)
            }
        }
    }
}

/// Calls one operation of the domain from an endpoint.
func domain<Value>(
    _ operation: () async throws(AuthFailure) -> Value
) async throws(APIFailure) -> Value {
    do throws(AuthFailure) { return try await operation() } catch { throw APIFailure(translating: error) }
}

/// Makes a value of the domain from what a request says.
func parsed<Value>(_ make: () throws(RequestFault) -> Value) throws(APIFailure) -> Value {
    do throws(RequestFault) { return try make() } catch { throw APIFailure(translating: error) }
}
