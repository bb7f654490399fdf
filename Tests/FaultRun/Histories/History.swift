/// A time in which a fault was on, and what it excuses.
package struct FaultWindow: Equatable, Sendable {
    package struct Excuses: OptionSet, Equatable, Sendable {
        package let rawValue: Int64

        package init(rawValue: Int64) { self.rawValue = rawValue }

        /// 503 is an honest answer.
        package static let unavailable = Excuses(rawValue: 1)
        /// A call may remain without an answer.
        package static let lost = Excuses(rawValue: 2)
        /// An answer may come late: its server was stopped.
        package static let late = Excuses(rawValue: 4)
    }

    package let name: String
    package let start: Double
    package let end: Double
    package let excuses: Excuses

    package init(_ name: String, start: Double, end: Double, excuses: Excuses) {
        self.name = name
        self.start = start
        self.end = end
        self.excuses = excuses
    }
}

/// What the database says of a device session once all is over.
package struct SessionRow: Equatable, Sendable {
    package let family: String
    package let generation: Int64
    package let endReason: String?
    /// How often a token above the row's generation was presented and believed: each is a commit that was lost.
    package let restorations: Int64

    package init(family: String, generation: Int64, endReason: String?, restorations: Int64) {
        self.family = family
        self.generation = generation
        self.endReason = endReason
        self.restorations = restorations
    }
}

/// What a run has seen.
package struct History: Equatable, Sendable {
    package var operations: [Operation]
    package var faults: [FaultWindow]
    package var rows: [SessionRow]

    package init(operations: [Operation] = [], faults: [FaultWindow] = [], rows: [SessionRow] = []) {
        self.operations = operations
        self.faults = faults
        self.rows = rows
    }
}
