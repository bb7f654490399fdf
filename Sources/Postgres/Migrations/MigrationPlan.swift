import Primitives

/// Compares what is applied with what this binary has. Pure.
struct MigrationPlan {
    struct Applied: Equatable {
        let name: String
        let checksum: [UInt8]
        let appliedAt: Timestamp
    }

    /// By name: those of the binary and those of the database.
    let statuses: [MigrationStatus]
    private let migrations: [Migration]

    init(_ migrations: [Migration], applied: [Applied]) {
        self.migrations = migrations
        let folder = Self.folder(of: migrations.first?.name ?? "")
        let applied = applied.filter { Self.folder(of: $0.name) == folder }
        let known = Set(migrations.map(\.name))
        let byName = Dictionary(applied.map { ($0.name, $0) }) { first, _ in first }
        let own = migrations.map { migration -> MigrationStatus in
            guard let row = byName[migration.name] else {
                return MigrationStatus(name: migration.name, state: .pending)
            }
            let isSame = migration.isApplied(as: row.checksum)
            return MigrationStatus(name: migration.name, state: isSame ? .applied(at: row.appliedAt) : .changed)
        }
        let foreign = applied.filter { !known.contains($0.name) }
            .map { MigrationStatus(name: $0.name, state: .unknown) }
        statuses = (own + foreign).sorted { $0.name < $1.name }
    }

    /// A set of migrations for some databases only has names in a folder, and is planned by itself.
    private static func folder(of name: String) -> Substring {
        name.lastIndex(of: "/").map { name[..<$0] } ?? ""
    }

    var unknown: [String] { statuses.filter { $0.state == .unknown }.map(\.name) }
    private var pendingNames: [String] { statuses.filter { $0.state == .pending }.map(\.name) }

    /// What is to be applied, in order.
    func pending() throws(MigrationError) -> [Migration] {
        try refuseChanged()
        guard unknown.isEmpty else { throw .databaseIsNewer(unknown: unknown) }
        let names = pendingNames
        if let first = names.first,
            let last = statuses.last(where: { $0.state != .pending })?.name, first < last
        {
            throw .outOfOrder(name: first)
        }
        return migrations.filter { names.contains($0.name) }
    }

    /// Everything that this binary needs is there. What it does not know is tolerated: in a rolling upgrade the newer
    /// binary migrates while older servers still start.
    func verify() throws(MigrationError) {
        try refuseChanged()
        guard pendingNames.isEmpty else { throw .pending(names: pendingNames) }
    }

    private func refuseChanged() throws(MigrationError) {
        if let changed = statuses.first(where: { $0.state == .changed }) { throw .changed(name: changed.name) }
    }
}
