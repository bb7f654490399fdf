import AuthDomain
import HTTP

/// All endpoints, each listed once.
package struct RouteTable: Sendable {
    package let routes: [Route]
    private let matcher: RouteMatcher<Route>
    private let issuerPath: IssuerPath

    package init(_ services: APIServices) {
        let others = [
            GrantTokens(tokens: services.tokens, metrics: services.metrics).route,
            IssueAccessToken(tokens: services.tokens).route,
            RevokeToken(issued: services.issued).route,
            IntrospectToken(issued: services.issued).route,
            ShowRevocations(feed: services.revocations).route,
            SignOut(devices: services.devices).route,
            ShowSession(services: services).route,
            ListDevices(devices: services.devices).route,
            RevokeOtherDevices(devices: services.devices).route,
            ShowCurrentDevice(services: services).route,
            ShowDevice(devices: services.devices).route,
            UpdateDevice(devices: services.devices).route,
            RevokeDevice(devices: services.devices).route,
            ReportDeviceLost(devices: services.devices).route,
            ShowKeySet(keys: services.keys).route,
            ShowServerMetadata(policy: services.policy).route,
            ShowOpenIDConfiguration(policy: services.policy).route,
            ShowLiveness().route,
            ShowReadiness(readiness: services.readiness).route,
            ShowVersion(version: services.version).route,
            ShowMetrics(
                metrics: services.metrics, gauges: services.gauges, keys: services.keys, clock: services.clock
            ).route,
        ]
        let description = ShowAPIDescription(
            others: others, version: services.version, issuer: services.policy.issuer)
        routes = others + [description.route]
        issuerPath = IssuerPath(services.policy.issuer)
        matcher = RouteMatcher(routes.map { ($0.method, $0.pattern, $0) })
    }

    func match(_ request: HTTPRequest) -> RouteMatcher<Route>.Match {
        matcher.match(request.method, issuerPath.productTarget(request.target))
    }
}
