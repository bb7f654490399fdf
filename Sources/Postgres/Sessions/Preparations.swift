/// Which statements one connection has prepared, and under which names.
struct Preparations {
    private var prepared: Set<String> = []
    /// How often a statement has been forgotten. Its old name stays taken on the server, so the next one is another.
    private var versions: [String: Int] = [:]

    /// `device_by_id`, and `device_by_id#1` once the first has been forgotten.
    func serverName(of statement: Statement) -> String {
        guard let version = versions[statement.name] else { return statement.name }
        return "\(statement.name)#\(version)"
    }

    /// - Returns: whether it has to be prepared now.
    mutating func begin(_ statement: Statement) -> Bool {
        prepared.insert(statement.name).inserted
    }

    /// The preparation itself did not take place; the name is free.
    mutating func abandon(_ statement: Statement) {
        prepared.remove(statement.name)
    }

    /// The server does not know it any more, or its plan gives other columns now.
    mutating func forget(_ statement: Statement) {
        guard prepared.remove(statement.name) != nil else { return }
        versions[statement.name, default: 0] += 1
    }
}
