import AuthAPI
import AuthStore
import HTTP
import JSON
import Postgres
import Primitives

/// An integration-test target: the product, and `/test` beside it (contract section 8). So far `/test` is the clock.
struct TestTarget: HTTPApplication {
    let api: AuthAPI
    let clock: FollowedClock
    let databases: LoopDatabases
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
            return await move(to: Timestamp(secondsSinceEpoch: seconds)) { () async throws(DatabaseError) in
                try await clock.set(to: Timestamp(secondsSinceEpoch: seconds), in: databases.current.main)
            }
        case (.post, "/test/clock/advance"):
            guard let seconds = body?["seconds"]?.integerValue else { return HTTPResponse(status: .badRequest) }
            return await move(to: clock.now() + .seconds(seconds)) { () async throws(DatabaseError) in
                try await clock.advance(by: .seconds(seconds), in: databases.current.main)
            }
        case (.post, "/test/reset"):
            let answer = await move(to: clock.now()) { () async throws(DatabaseError) in
                try await clock.reset(in: databases.current.main)
            }
            return answer.status == .ok ? HTTPResponse(status: .noContent) : answer
        default:
            return nil
        }
    }

    /// Of years with four digits only: what is minted then can be read.
    private static let instants = Timestamp(secondsSinceEpoch: 0)...Timestamp(secondsSinceEpoch: 253_402_300_799)

    private func move(to instant: Timestamp, _ body: () async throws(DatabaseError) -> Void) async -> HTTPResponse {
        guard Self.instants.contains(instant) else { return HTTPResponse(status: .badRequest) }
        do throws(DatabaseError) {
            try await body()
        } catch {
            return HTTPResponse(status: .serviceUnavailable)
        }
        // What is due at the new time is done when the answer is there: a test that leaps never overtakes the keys.
        await keys.advance()
        return now()
    }

    private func now() -> HTTPResponse {
        let body: JSONObject = ["now": .integer(clock.now().secondsSinceEpoch)]
        return HTTPResponse(
            status: .ok, fields: ["Content-Type": "application/json", "Cache-Control": "no-store"],
            body: .bytes(body.encoded()))
    }
}
