/// What the server needs in order to serve; `/readyz` asks it. Must answer from memory or within a short deadline.
package protocol ReadinessSource: Sendable {
    /// In the order that they are shown; the names are each other's different.
    func checks() async -> [ReadinessCheck]
}

package struct ReadinessCheck: Equatable, Sendable {
    package let name: String
    /// A word or a safe sentence for an operator, `nil` when all is well.
    package let fault: String?
    /// Likewise what an operator should see to, though requests may come.
    package let warning: String?

    /// The process is about to drain.
    package static let stopping = ReadinessCheck("process", fault: "stopping")

    package init(_ name: String, fault: String? = nil, warning: String? = nil) {
        self.name = name
        self.fault = fault
        self.warning = warning
    }
}
