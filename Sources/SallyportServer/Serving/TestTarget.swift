import AuthAPI
import HTTP
import JSON
import Primitives

/// An integration-test target: the product, and `/test` beside it (contract section 8). So far `/test` is the clock.
struct TestTarget: HTTPApplication {
    let api: AuthAPI
    let clock: VirtualClock
    let keys: KeyFollowing

    func respond(to request: HTTPRequest) async -> HTTPResponse {
        if isForTest(request), let response = await answer(request) { return marked(response) }
        return marked(await api.respond(to: request))
    }

    func refuse(_ refusal: HTTPRefusal, of request: HTTPRequest) -> HTTPResponse {
        marked(api.refuse(refusal, of: request))
    }

    func refuse(_ refusal: HTTPRefusal) -> HTTPResponse {
        marked(api.refuse(refusal))
    }

    private static let mark: HTTPFieldName = "X-Sallyport-Test-Target"

    private func marked(_ response: HTTPResponse) -> HTTPResponse {
        var response = response
        response.fields.append(Self.mark, "true")
        return response
    }

    /// A page of another origin must not reach the switches: it cannot name a loopback host and hide its origin at once,
    /// nor send JSON without asking first.
    private func isForTest(_ request: HTTPRequest) -> Bool {
        let forwarded = ["origin", "forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"]
        guard request.target.path.hasPrefix("/test/"), let host = request.authority,
            (try? Issuer("http://" + host))?.isLoopback ?? false,
            !forwarded.contains(where: request.fields.contains)
        else { return false }
        return request.body.isEmpty || request.mediaType?.essence == MediaType.json
    }

    /// `nil` where there is no such switch: the product's own 404 answers.
    private func answer(_ request: HTTPRequest) async -> HTTPResponse? {
        let body = (try? JSONParser.parse(request.body))?.objectValue
        switch (request.method, request.target.path) {
        case (.get, "/test/clock"):
            return now()
        case (.put, "/test/clock"):
            guard let seconds = body?["now"]?.integerValue else { return HTTPResponse(status: .badRequest) }
            clock.set(to: Timestamp(secondsSinceEpoch: seconds))
            await keys.advance()
            return now()
        case (.post, "/test/clock/advance"):
            guard let seconds = body?["seconds"]?.integerValue else { return HTTPResponse(status: .badRequest) }
            clock.advance(by: .seconds(seconds))
            // What is due at the new time is done when the answer is there: a test that leaps never overtakes the keys.
            await keys.advance()
            return now()
        case (.post, "/test/reset"):
            clock.reset()
            return HTTPResponse(status: .noContent)
        default:
            return nil
        }
    }

    private func now() -> HTTPResponse {
        let body: JSONObject = ["now": .integer(clock.now().secondsSinceEpoch)]
        return HTTPResponse(
            status: .ok, fields: ["Content-Type": "application/json", "Cache-Control": "no-store"],
            body: .bytes(body.encoded()))
    }
}
