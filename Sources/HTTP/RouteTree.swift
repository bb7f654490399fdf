/// The patterns of a table as a tree of path parts, with a number for each route.
///
/// The path is compared as bytes, and a part is decoded only where it has a `%`. Not generic over the route: across
/// modules that would run unspecialised, at twice the price of parsing the request.
struct RouteTree: Sendable {
    struct Entry: Sendable {
        let method: HTTPMethod
        let index: Int
        let parameterNames: [String]
    }

    private struct Node: Sendable {
        var literals: [(name: [UInt8], node: Int)] = []
        var parameter: Int?
        var entries: [Entry] = []
    }

    private var nodes = [Node()]

    mutating func add(_ method: HTTPMethod, _ pattern: RoutePattern, index: Int) {
        var node = 0
        for part in pattern.parts { node = child(of: node, part) }
        precondition(!nodes[node].entries.contains { $0.method == method }, "two routes for one request")
        nodes[node].entries.append(Entry(method: method, index: index, parameterNames: pattern.parameterNames))
    }

    struct Search {
        let method: HTTPMethod
        var values: [String] = []
        var allowed: [HTTPMethod] = []
        var found: Entry?
    }

    func search(_ method: HTTPMethod, _ target: RequestTarget) -> Search {
        var search = Search(method: method)
        guard target.form != .asterisk else { return search }
        let path = target.pathBytes
        find(path.count > 1 ? path.dropFirst() : nil, from: 0, &search)
        return search
    }

    /// Goes down by the next part of `rest`, which is `nil` at the path's end. Depth is that of the table.
    private func find(_ rest: ArraySlice<UInt8>?, from node: Int, _ search: inout Search) {
        guard let rest else { return finish(at: node, &search) }
        let slash = rest.firstIndex(of: UInt8(ascii: "/"))
        let piece = rest[..<(slash ?? rest.endIndex)]
        let next = slash.map { rest[($0 + 1)...] }
        guard let (literal, isPlain) = comparable(piece) else { return }
        if let child = nodes[node].literals.first(where: { $0.name[...] == literal })?.node {
            find(next, from: child, &search)
            // OpenAPI 3.1 §4.8.8.1: a path in full comes before a template, with the methods that it has itself.
            if search.found != nil || !search.allowed.isEmpty { return }
        }
        guard let child = nodes[node].parameter else { return }
        guard let value = isPlain ? PathSegment.decode(piece) : String(validating: literal, as: UTF8.self)
        else { return }
        search.values.append(value)
        find(next, from: child, &search)
        if search.found == nil { search.values.removeLast() }
    }

    /// The part as it is compared, or `nil` when it names nothing. Plain parts are compared as they were sent.
    private func comparable(_ piece: ArraySlice<UInt8>) -> (ArraySlice<UInt8>, isPlain: Bool)? {
        guard piece.contains(UInt8(ascii: "%")) else { return (piece, true) }
        return PathSegment.decode(piece).map { (Array($0.utf8)[...], false) }
    }

    private func finish(at node: Int, _ search: inout Search) {
        let entries = nodes[node].entries
        if let entry = entries.first(where: { $0.method == search.method }) {
            search.found = entry
        } else if search.method == .head, let entry = entries.first(where: { $0.method == .get }) {
            search.found = entry
        } else {
            for entry in entries where !search.allowed.contains(entry.method) {
                search.allowed.append(entry.method)
                if entry.method == .get, !entries.contains(where: { $0.method == .head }) {
                    search.allowed.append(.head)
                }
            }
        }
    }

    private mutating func child(of node: Int, _ part: RoutePattern.Part) -> Int {
        switch part {
        case .literal(let text):
            let name = Array(text.utf8)
            if let known = nodes[node].literals.first(where: { $0.name == name }) { return known.node }
            nodes.append(Node())
            nodes[node].literals.append((name, nodes.count - 1))
        case .parameter:
            if let known = nodes[node].parameter { return known }
            nodes.append(Node())
            nodes[node].parameter = nodes.count - 1
        }
        return nodes.count - 1
    }
}
