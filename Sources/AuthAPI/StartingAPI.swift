import AuthDomain
package import HTTP
package import Primitives
import Telemetry

/// What is served before the product is there: liveness, and "starting" for everything else. Never a verdict.
package struct StartingAPI: HTTPApplication {
    private let writer: FailureWriter
    private let random: any RandomSource
    private let origins: CrossOriginPolicy

    package init(origins: CrossOriginPolicy = CrossOriginPolicy(), clock: any WallClock, random: any RandomSource) {
        writer = FailureWriter(clock: clock, random: random)
        self.random = random
        self.origins = origins
    }

    package func respond(to request: HTTPRequest) async -> HTTPResponse {
        var response = answer(request)
        origins.mark(&response, to: request)
        return response
    }

    package func refuse(_ refusal: HTTPRefusal, of request: HTTPRequest) -> HTTPResponse {
        var response = refuse(refusal)
        origins.mark(&response, to: request)
        return response
    }

    package func refuse(_ refusal: HTTPRefusal) -> HTTPResponse {
        var response = failure(APIFailure(translating: refusal))
        response.closesConnection = true
        return response
    }

    private func answer(_ request: HTTPRequest) -> HTTPResponse {
        guard var response = origins.preflight(request) ?? alive(request) else {
            return failure(APIFailure(.unavailable(.starting)))
        }
        response.complete(RequestID(random: random))
        return response
    }

    private func alive(_ request: HTTPRequest) -> HTTPResponse? {
        request.target.path == ShowLiveness.path ? ShowLiveness.answer : nil
    }

    private func failure(_ failure: APIFailure) -> HTTPResponse {
        let id = RequestID(random: random)
        var response = writer.response(failure, to: .authorization, requestID: id)
        response.complete(id)
        return response
    }
}
