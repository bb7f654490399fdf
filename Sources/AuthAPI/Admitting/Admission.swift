import AuthDomain
package import HTTP
import Primitives
import Telemetry

/// What is decided of a request before anything is done for it: whose it is, which page may read the answer, and whether
/// there is room.
package struct Admission: Sendable {
    package let proxies: TrustedProxies
    package let origins: CrossOriginPolicy
    /// `nil`: nobody is limited.
    package let limiter: RateLimiter?
    /// Requests that one event loop works on before it turns others away.
    package let concurrencyMax: Int
    private let hasWarned = Locked(false)

    package init(
        proxies: TrustedProxies = TrustedProxies(), origins: CrossOriginPolicy = CrossOriginPolicy(),
        limiter: RateLimiter? = nil, concurrencyMax: Int? = nil
    ) {
        self.proxies = proxies
        self.origins = origins
        self.limiter = limiter
        self.concurrencyMax = concurrencyMax ?? Limits.concurrentRequestsMax
    }

    /// Turns away what there is no room for, before anything is read or looked up for it.
    ///
    /// Health and public documents are always served: they come from memory, and an outage in which verifiers lose the
    /// keys, or a balancer takes a busy server for a dead one, would be of our own making.
    func admit(
        _ request: HTTPRequest, to route: Route?, from client: IPAddress, knowing servers: ResourceServers
    ) throws(APIFailure) {
        if let route, route.area != .auth { return }
        guard request.concurrency <= concurrencyMax else { throw APIFailure(.concurrency) }
        // A resource server asks for all its users from one address. Who only claims to be one is counted, and can guess
        // no faster than others.
        if route?.access == .resourceServer, isSent(request, byOneOf: servers) { return }
        if let wait = limiter?.wait(address: client) { throw APIFailure(.addressRate, wait: wait) }
    }

    private func isSent(_ request: HTTPRequest, byOneOf servers: ResourceServers) -> Bool {
        do throws(APIFailure) {
            return try BasicCredentials.read(request.fields).isKnown(to: servers)
        } catch {
            // The route says what is wrong with them.
            return false
        }
    }

    /// Once: a proxy that nobody named has one bucket and one address in the log for everybody behind it.
    func warnOfProxy(_ request: HTTPRequest, _ logger: Logger) {
        guard request.fields.contains("x-forwarded-for") || request.fields.contains("forwarded"),
            !proxies.contains(request.peer),
            hasWarned.withLock({ hasWarned in
                defer { hasWarned = true }
                return !hasWarned
            })
        else { return }
        logger.warning(
            "a forwarded request from an address that SALLYPORT_TRUSTED_PROXIES does not name",
            [LogField("client.address", request.peer.description)])
    }
}
