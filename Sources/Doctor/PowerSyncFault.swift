import JSON

/// What goes wrong between a token server and PowerSync: each way that was met in the field, with what to do and what
/// PowerSync says then. The rows stand in PowerSyncFault+Rows.swift.
package struct PowerSyncFault: Hashable, Sendable {
    package let name: String
    /// A fault refuses tokens now; a warning may, or only in some places.
    package let isWarning: Bool
    /// What it means and what to do, with PowerSync's own code where it has one.
    package let advice: String

    static func fault(_ name: String, _ advice: String) -> PowerSyncFault {
        PowerSyncFault(name: name, isWarning: false, advice: advice)
    }

    static func warning(_ name: String, _ advice: String) -> PowerSyncFault {
        PowerSyncFault(name: name, isWarning: true, advice: advice)
    }
}

/// A fault as it was met.
package struct PowerSyncFinding: Equatable, Sendable {
    package let fault: PowerSyncFault
    /// What exactly: a name, an address, a number. Safe to show.
    package let detail: String

    package init(_ fault: PowerSyncFault, _ detail: String = "") {
        self.fault = fault
        self.detail = detail
    }

    package var sentence: String { (detail.isEmpty ? "" : shown(detail) + ": ") + fault.advice }
}
