package import Primitives

/// One change of the keys; several are made together or not at all.
package enum KeyStep: Equatable, Sendable {
    /// A new key of this purpose, in this state.
    case make(KeyPurpose, KeyState)
    /// The key signs from now on, and the one that did retires.
    case promote(String)
    /// The private half is destroyed, the public one leaves the key set.
    case remove(String)
    /// As `remove`, for good reason.
    case compromise(String)
}

/// When keys come, sign and go by themselves. Contract section 2.5.
package struct KeySchedule: Equatable, Sendable {
    /// A key is known for this long before it signs.
    package let publishLead: Duration
    /// How long a key signs.
    package let rotation: Duration

    package init(publishLead: Duration, rotation: Duration) {
        self.publishLead = publishLead
        self.rotation = rotation
    }

    /// PowerSync keeps a key set for up to an hour without a token to look at, and judges the next token by it.
    package var isShortForVerifiers: Bool { publishLead < .minutes(65) }

    /// When a `next` key becomes current.
    package func signsAt(_ next: KeyRecord) -> Timestamp { next.createdAt + publishLead }

    /// What is due at this moment. Nothing before the first set is there: that one has no predecessor to wait for.
    ///
    /// Verdict keys are made by hand alone: each must be kept for as long as a client may know no other.
    package func due(_ records: [KeyRecord], at now: Timestamp) -> [KeyStep] {
        guard !records.isEmpty else { return [] }
        return KeyPurpose.allCases.flatMap { due($0, records.filter { [purpose = $0] in $0.purpose == purpose }, now) }
    }

    private func due(_ purpose: KeyPurpose, _ records: [KeyRecord], _ now: Timestamp) -> [KeyStep] {
        var steps: [KeyStep] = []
        let next = records.oldestNext
        if let current = records.first(where: { $0.state == .current }) {
            if let next {
                if signsAt(next) <= now { steps.append(.promote(next.kid)) }
            } else if purpose != .verdict, current.stateAt + rotation - publishLead <= now {
                steps.append(.make(purpose, .next))
            }
        } else {
            // Somebody changed the table by hand: a server without a signing key is worse than one without a lead.
            steps.append(next.map { .promote($0.kid) } ?? .make(purpose, .current))
        }
        return steps + records.filter { $0.state == .retired && $0.heldUntil <= now }.map { .remove($0.kid) }
    }
}

extension [KeyRecord] {
    /// The one that is published longest, of those that wait.
    var oldestNext: KeyRecord? {
        filter { $0.state == .next }.min { ($0.createdAt, $0.kid) < ($1.createdAt, $1.kid) }
    }
}
