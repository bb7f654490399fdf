import AuthDomain
package import HTTP
import Primitives
import Telemetry

/// The product's HTTP interface: routes, and around each of them the steps that every request goes through.
///
/// In order: request id, client address, preflight, route, room and rate, access, content type, the endpoint, the answer's
/// common fields, one log line. Endpoints throw `APIFailure` and nothing else, so that every refusal has the one shape of
/// contract section 5.
package struct AuthAPI: HTTPApplication {
    package let table: RouteTable
    private let services: APIServices
    private let admission: Admission
    private let requests: RequestMetrics
    private let sampling: LogSampling
    private let writer: FailureWriter
    private let monotonic: (@Sendable () -> Duration)?

    /// - Parameter monotonic: a clock that never goes back, for the duration in the log line; `nil` leaves it out.
    package init(
        services: APIServices, admission: Admission = Admission(), monotonic: (@Sendable () -> Duration)? = nil
    ) {
        self.services = services
        self.admission = admission
        self.monotonic = monotonic
        requests = RequestMetrics(services.metrics)
        sampling = LogSampling(every: services.accessLogEvery)
        table = RouteTable(services)
        writer = FailureWriter(clock: services.clock, random: services.random)
    }

    package func respond(to request: HTTPRequest) async -> HTTPResponse {
        let start = monotonic?()
        let id = RequestID(random: services.random)
        let client = admission.proxies.client(of: request)
        var route: Route?
        var response: HTTPResponse
        var code: APIErrorCode?
        do throws(APIFailure) {
            if let preflight = admission.origins.preflight(request) {
                response = preflight
            } else {
                let match = table.match(request)
                if case .found(let matched, _) = match { route = matched }
                try admission.admit(request, to: route, from: client, knowing: services.resourceServers)
                let (matched, parameters) = try found(match)
                response = try await answer(matched, APIRequest(http: request, parameters: parameters, id: id))
            }
        } catch {
            response = writer.response(error, to: route?.credentialPlace ?? .authorization, requestID: id)
            code = error.code
            if let shortage = error.shortage { count(shortage) }
        }
        response.complete(id)
        admission.origins.mark(&response, to: request)
        admission.warnOfProxy(request, services.logger)
        let duration = start.flatMap { start in monotonic.map { $0() - start } }
        count(request, route, response, code, duration)
        log(request, from: client, route, response, code, id, duration)
        return response
    }

    package func refuse(_ refusal: HTTPRefusal, of request: HTTPRequest) -> HTTPResponse {
        var response = refuse(refusal, from: admission.proxies.client(of: request))
        admission.origins.mark(&response, to: request)
        return response
    }

    package func refuse(_ refusal: HTTPRefusal) -> HTTPResponse {
        var response = refuse(refusal, from: nil)
        admission.origins.markUnread(&response)
        return response
    }

    private func refuse(_ refusal: HTTPRefusal, from client: IPAddress?) -> HTTPResponse {
        let id = RequestID(random: services.random)
        let failure = APIFailure(translating: refusal)
        var response = writer.response(failure, to: .authorization, requestID: id)
        response.closesConnection = true
        if let shortage = failure.shortage { count(shortage) }
        response.complete(id)
        var fields = [
            LogField("http.status", response.status.code), LogField("request.id", id.description),
            LogField("error.reason", failure.code.row.reason),
        ]
        if let client { fields.append(LogField("client.address", client.description)) }
        if case .unacceptable(.malformed(let part)) = refusal { fields.append(LogField("http.part", part.rawValue)) }
        // Each of these costs a client next to nothing, and comes before any rate limit.
        services.logger.throttled(failure.code.row.level, "request refused", of: failure.code.row.reason, fields)
        return response
    }

    private func found(_ match: RouteMatcher<Route>.Match) throws(APIFailure) -> (Route, RouteParameters) {
        switch match {
        case .found(let route, let parameters): return (route, parameters)
        case .notFound: throw APIFailure(.notFound)
        case .methodNotAllowed(let allowed):
            var failure = APIFailure(.methodNotAllowed)
            failure.allowedMethods = allowed
            throw failure
        }
    }

    /// Access before content: a stranger is told nothing of what a route would take.
    private func answer(_ route: Route, _ request: APIRequest) async throws(APIFailure) -> HTTPResponse {
        switch route.handler {
        case .open(let handle):
            try checkContentType(request.http, route)
            return try await handle(request)
        case .session(let handle):
            let token = try BearerToken.read(request.http.fields, .session)
            try checkContentType(request.http, route)
            return try await handle(request, token)
        case .caller(let handle):
            let token = try BearerToken.read(request.http.fields, .access)
            let caller = try await domain { () async throws(AuthFailure) in
                try await services.gate.authenticate(token)
            }
            try checkContentType(request.http, route)
            return try await handle(request, caller)
        case .resourceServer(let handle):
            let credentials = try BasicCredentials.read(request.http.fields)
            guard credentials.isKnown(to: services.resourceServers) else { throw APIFailure(.clientUnknown) }
            try checkContentType(request.http, route)
            return try await handle(request)
        }
    }

    /// Without content there is no type to be wrong.
    private func checkContentType(_ request: HTTPRequest, _ route: Route) throws(APIFailure) {
        guard !route.accepts.isEmpty, !request.body.isEmpty else { return }
        guard let type = request.mediaType, route.accepts.contains(type.essence),
            type.parameter("charset").map({ $0.lowercased() == "utf-8" }) ?? true
        else { throw APIFailure(.mediaTypeUnsupported) }
    }
}

extension AuthAPI {
    private static let knownMethods: [HTTPMethod] = [.get, .head, .post, .put, .patch, .delete, .options]

    /// A method that no route has is the client's own text: it is not shown.
    private func method(of request: HTTPRequest) -> String {
        Self.knownMethods.contains(request.method) ? request.method.name : "other"
    }

    private func count(
        _ request: HTTPRequest, _ route: Route?, _ response: HTTPResponse, _ code: APIErrorCode?, _ duration: Duration?
    ) {
        requests.count(
            route: route?.pattern.text ?? "none", method: method(of: request), status: response.status.code, duration)
        if let code { services.metrics.counter(APIMetrics.refusals, [("reason", code.row.reason)]).add() }
    }

    private func count(_ shortage: Shortage) {
        services.metrics.counter(APIMetrics.turnedAway, [("cause", shortage.rawValue)]).add()
    }

    /// One line per request, or for one in some of those that went well.
    private func log(
        _ request: HTTPRequest, from client: IPAddress, _ route: Route?, _ response: HTTPResponse,
        _ code: APIErrorCode?, _ id: RequestID,
        _ duration: Duration?
    ) {
        let level = code?.row.level ?? route?.level ?? .info
        guard services.logger.writes(level), code != nil || sampling.takesNext() else { return }
        var fields = [
            LogField("http.method", method(of: request)), LogField("http.route", route?.pattern.text ?? "none"),
            LogField("http.status", response.status.code), LogField("request.id", id.description),
            LogField("client.address", client.description),
        ]
        if let trace = request.fields["traceparent"].flatMap({ TraceParent($0) }) {
            fields += [LogField("trace.id", trace.traceID), LogField("span.id", trace.spanID)]
        }
        if let duration { fields.append(LogField("duration.us", duration.wholeMicroseconds)) }
        if let code { fields.append(LogField("error.reason", code.row.reason)) }
        services.logger.log(level, "request", fields)
    }
}
