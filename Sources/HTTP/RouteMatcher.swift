/// Finds the route of a request: a literal part of a path before a parameter, and a path that is named in full with no
/// other methods than its own.
///
/// HEAD is answered by GET's route where it has none of its own. A literal route costs no allocation.
package struct RouteMatcher<Route: Sendable>: Sendable {
    package enum Match: Sendable {
        case found(Route, RouteParameters)
        /// The path is known, the method is not; the methods it knows, in the order of the table.
        case methodNotAllowed(allowed: [HTTPMethod])
        case notFound
    }

    private var tree = RouteTree()
    private let routes: [Route]

    /// - Precondition: no two routes with the same method and the same shape of path.
    package init(_ routes: [(method: HTTPMethod, pattern: RoutePattern, route: Route)]) {
        self.routes = routes.map(\.route)
        for (index, route) in routes.enumerated() { tree.add(route.method, route.pattern, index: index) }
    }

    package func match(_ method: HTTPMethod, _ target: RequestTarget) -> Match {
        let search = tree.search(method, target)
        if let found = search.found {
            return .found(
                routes[found.index], RouteParameters(names: found.parameterNames, values: search.values))
        }
        return search.allowed.isEmpty ? .notFound : .methodNotAllowed(allowed: search.allowed)
    }
}

/// The decoded values of a pattern's parameters.
package struct RouteParameters: Sendable {
    private let names: [String]
    private let values: [String]

    package init(names: [String] = [], values: [String] = []) {
        self.names = names
        self.values = values
    }

    package subscript(_ name: String) -> String? {
        names.firstIndex(of: name).map { values[$0] }
    }
}
