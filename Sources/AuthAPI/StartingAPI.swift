import AuthDomain
package import HTTP
package import Primitives
import Telemetry

/// What is served before the product is there: liveness, and "starting" for everything else. Never a verdict.
package struct StartingAPI: HTTPApplication {
    private let writer: FailureWriter
    private let random: any RandomSource

    package init(clock: any WallClock, random: any RandomSource) {
        writer = FailureWriter(clock: clock, random: random)
        self.random = random
    }

    package func respond(to request: HTTPRequest) async -> HTTPResponse {
        if request.target.path != ShowLiveness.path { return failure(APIFailure(.unavailable(.starting))) }
        var response = ShowLiveness.answer
        response.complete(RequestID(random: random))
        return response
    }

    package func refuse(_ refusal: HTTPRefusal) -> HTTPResponse {
        var response = failure(APIFailure(translating: refusal))
        response.closesConnection = true
        return response
    }

    private func failure(_ failure: APIFailure) -> HTTPResponse {
        let id = RequestID(random: random)
        var response = writer.response(failure, to: .authorization, requestID: id)
        response.complete(id)
        return response
    }
}
