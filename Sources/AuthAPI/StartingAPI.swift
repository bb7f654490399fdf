package import AuthDomain
package import HTTP
package import Primitives
import Telemetry

/// What is served before the product is there: liveness, the key set as soon as its keys are known, and "starting" for
/// everything else. Never a verdict.
package struct StartingAPI: HTTPApplication {
    private let keys: any KeyringSource
    private let keySet: ShowKeySet
    private let writer: FailureWriter
    private let random: any RandomSource
    private let origins: CrossOriginPolicy

    package init(
        keys: any KeyringSource, origins: CrossOriginPolicy = CrossOriginPolicy(), clock: any WallClock,
        random: any RandomSource
    ) {
        self.keys = keys
        keySet = ShowKeySet(keys: keys)
        writer = FailureWriter(clock: clock, random: random)
        self.random = random
        self.origins = origins
    }

    package func respond(to request: HTTPRequest) async -> HTTPResponse {
        var response: HTTPResponse
        do throws(APIFailure) {
            if let preflight = origins.preflight(request) {
                response = preflight
            } else {
                response = try answer(request)
            }
            response.complete(RequestID(random: random))
        } catch {
            response = failure(error)
        }
        origins.mark(&response, to: request)
        return response
    }

    package func refuse(_ refusal: HTTPRefusal, of request: HTTPRequest) -> HTTPResponse {
        var response = closing(refusal)
        origins.mark(&response, to: request)
        return response
    }

    package func refuse(_ refusal: HTTPRefusal) -> HTTPResponse {
        var response = closing(refusal)
        origins.markUnread(&response)
        return response
    }

    private func closing(_ refusal: HTTPRefusal) -> HTTPResponse {
        var response = failure(APIFailure(translating: refusal))
        response.closesConnection = true
        return response
    }

    private func answer(_ request: HTTPRequest) throws(APIFailure) -> HTTPResponse {
        let isReading = request.method == .get || request.method == .head
        switch request.target.path {
        case ShowLiveness.path: return ShowLiveness.answer
        // With the wrong key-encryption keys a server never gets beyond its start; tokens that live are verified on.
        case ShowKeySet.path where isReading: return try keySet.answer(request)
        case ShowReadiness.path where isReading && keys.inventory != nil:
            throw ShowReadiness.failure([ReadinessCheck("signing_key", fault: keys.fault)])
        default: throw APIFailure(.unavailable(.starting))
        }
    }

    private func failure(_ failure: APIFailure) -> HTTPResponse {
        let id = RequestID(random: random)
        var response = writer.response(failure, to: .authorization, requestID: id)
        response.complete(id)
        return response
    }
}
