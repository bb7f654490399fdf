import HTTP
import Primitives

/// Which pages may read our answers.
///
/// An origin is compared byte by byte with the list of the settings; there are no patterns, and `null` is on no list. No
/// cookie and no certificate of a client is ever read, so allowing credentials lends a page nothing; without it clients
/// that always send them (Better Auth's do) could not read an answer. Source: Fetch standard §3.2.
package struct CrossOriginPolicy: Sendable {
    private let origins: Set<[UInt8]>

    /// - Parameter origins: as browsers write them: `https://app.example.com`, lower case, without a default port.
    package init(_ origins: [String] = []) {
        self.origins = Set(origins.map { Array($0.utf8) })
    }

    /// The answer to a browser that asks before it sends; `nil` where the request is none of that kind, or not for that page.
    ///
    /// It needs no token, and comes before everything that looks for one: browsers send none with it. Methods and fields
    /// are those of the whole area, so that one answer serves a page for a while; a method that a path has not is 405 then.
    func preflight(_ request: HTTPRequest) -> HTTPResponse? {
        guard request.method == .options, request.fields.contains("access-control-request-method"),
            let methods = allowedMethods(request)
        else { return nil }
        return HTTPResponse(
            status: .noContent,
            fields: [
                "Access-Control-Allow-Methods": methods, "Access-Control-Allow-Headers": Self.allowedFields,
                "Access-Control-Max-Age": String(Limits.preflightAge.wholeSeconds),
            ])
    }

    /// Adds what a page needs to read this answer, a refusal included: a page that cannot read a 401 takes it for an outage.
    func mark(_ response: inout HTTPResponse, to request: HTTPRequest) {
        switch PathArea(request.target.pathBytes) {
        case .operations: return
        case .published:
            if !response.hasField("access-control-allow-origin") {
                response.fields.append("Access-Control-Allow-Origin", "*")
            }
        case .auth:
            guard !origins.isEmpty else { return }
            response.fields.append("Vary", "Origin")
            guard let origin = trustedOrigin(of: request) else { return }
            response.fields.append("Access-Control-Allow-Origin", origin)
            response.fields.append("Access-Control-Allow-Credentials", "true")
            response.fields.append("Access-Control-Expose-Headers", Self.exposedFields)
        }
    }

    /// A refusal of a request whose fields were not read to their end: any page may read it, for it tells nothing but that
    /// the request was too long or malformed. Nothing where no page is served at all.
    func markUnread(_ response: inout HTTPResponse) {
        guard !origins.isEmpty else { return }
        response.fields.append("Access-Control-Allow-Origin", "*")
    }

    private func allowedMethods(_ request: HTTPRequest) -> String? {
        switch PathArea(request.target.pathBytes) {
        case .auth: trustedOrigin(of: request) == nil ? nil : "GET, HEAD, POST, PUT, PATCH, DELETE"
        case .published: request.fields.contains("origin") ? "GET, HEAD" : nil
        case .operations: nil
        }
    }

    private func trustedOrigin(of request: HTTPRequest) -> String? {
        let values = request.fields.valueBytes(of: "origin")
        guard let origin = values.first, values.count == 1, origins.contains(Array(origin)) else { return nil }
        return String(decoding: origin, as: UTF8.self)
    }

    private static let allowedFields =
        (["Authorization", "Content-Type", "Idempotency-Key", "If-None-Match", "traceparent", "tracestate"]
        + DeviceParameters.fieldNames).joined(separator: ", ")
    /// `WWW-Authenticate` and `Retry-After` tell an end from an outage.
    private static let exposedFields = "set-auth-jwt, WWW-Authenticate, Retry-After, X-Request-Id, ETag, Allow"
}
