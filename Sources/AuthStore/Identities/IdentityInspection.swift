package import Postgres

/// What `information_schema` shows of identity tables, against each preset: which one it is, or what is in the way.
package struct IdentityInspection: Equatable, Sendable {
    package enum Result: Equatable, Sendable {
        case found(IdentityMapping.Preset)
        /// Of the preset that comes closest.
        case problems(IdentityMapping.Preset, [IdentityCatalog.Problem])
    }

    package let result: Result
    /// `name = column type` lines of what is read, by the name that Better Auth gives it.
    package let columns: [String]

    /// - Parameter mapping: the mapping of a preset, with the operator's names.
    package static func read(
        from database: Database, preferring preferred: IdentityMapping.Preset?,
        mapping: (IdentityMapping.Preset) -> IdentityMapping
    ) async throws(DatabaseError) -> IdentityInspection {
        let tables = try await IdentityCatalog.tables(of: mapping(preferred ?? .kysely), in: database)
        return IdentityInspection(tables, preferring: preferred, mapping: mapping)
    }

    init(
        _ tables: [String: [String: String]], preferring preferred: IdentityMapping.Preset?,
        mapping: (IdentityMapping.Preset) -> IdentityMapping
    ) {
        var closest: (preset: IdentityMapping.Preset, problems: [IdentityCatalog.Problem])?
        var fitting: [IdentityMapping.Preset] = []
        for preset in IdentityMapping.Preset.allCases {
            let problems = IdentityCatalog.problems(mapping(preset), tables: tables)
            if problems.isEmpty { fitting.append(preset) }
            if preset == preferred || preferred == nil && problems.count < closest?.problems.count ?? .max {
                closest = (preset, problems)
            }
        }
        let preset = Self.preset(of: fitting, mapping, tables) ?? closest?.preset ?? .kysely
        let problems = fitting.isEmpty ? closest?.problems ?? [] : []
        result = problems.isEmpty ? .found(preset) : .problems(preset, problems)
        columns = Self.lines(mapping(preset), tables)
    }

    /// Two generators use the same names, and differ in how they keep times.
    private static func preset(
        of fitting: [IdentityMapping.Preset], _ mapping: (IdentityMapping.Preset) -> IdentityMapping,
        _ tables: [String: [String: String]]
    ) -> IdentityMapping.Preset? {
        fitting.first { preset in
            let mapping = mapping(preset)
            let type = tables[mapping.sessionTable]?[mapping.name(of: .sessionExpiresAt)]
            return (type == "timestamp with time zone") == (preset == .kysely)
        } ?? fitting.first
    }

    private static func lines(_ mapping: IdentityMapping, _ tables: [String: [String: String]]) -> [String] {
        IdentityMapping.Column.allCases.map { column in
            let table = column.isOfSession ? mapping.sessionTable : mapping.userTable
            let name = mapping.name(of: column)
            let type = tables[table]?[name] ?? "missing" + (column.isOptional ? ", not needed" : "")
            return "\(column.rawValue) = \(name) (\(type))"
        }
    }
}
