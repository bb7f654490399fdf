import HTTP
import Primitives

/// Hands requests to the application of the moment: the one that says "starting", then the product.
final class SwitchedApplication: HTTPApplication {
    private let application: Locked<any HTTPApplication>

    init(_ first: any HTTPApplication) {
        application = Locked(first)
    }

    func become(_ next: any HTTPApplication) {
        application.withLock { $0 = next }
    }

    func respond(to request: HTTPRequest) async -> HTTPResponse {
        await application.withLock { $0 }.respond(to: request)
    }

    func refuse(_ refusal: HTTPRefusal, of request: HTTPRequest) -> HTTPResponse {
        application.withLock { $0 }.refuse(refusal, of: request)
    }

    func refuse(_ refusal: HTTPRefusal) -> HTTPResponse {
        application.withLock { $0 }.refuse(refusal)
    }
}
