package import Primitives

/// What an operator may want of the keys. Contract section 2.5.
package enum KeyCommand: Equatable, Sendable {
    /// Publishes a next key, which becomes current by itself.
    case rotate(KeyPurpose)
    /// Makes a next key current now; the one that waits longest where none is named. An emergency undercuts the lead.
    case promote(kid: String?, KeyPurpose, isEmergency: Bool)
    /// Ends the hold of a retired key, or withdraws a next one. An emergency does not wait for its tokens to end.
    case retire(kid: String, isEmergency: Bool)
    /// Removes at once; for the current key another takes over.
    case compromise(kid: String)

    /// - Throws: why it is not done, in a sentence for the operator; nothing has changed then.
    package func steps(
        _ records: [KeyRecord], _ schedule: KeySchedule, at now: Timestamp
    ) throws(KeyRefusal) -> [KeyStep] {
        switch self {
        case .rotate(let purpose):
            guard let next = records.next(of: purpose) else { return [.make(purpose, .next)] }
            throw .waiting(next.kid, signsAt: schedule.signsAt(next))
        case .promote(let kid, let purpose, let isEmergency):
            let next = try Self.next(kid, purpose, records)
            let signsAt = schedule.signsAt(next)
            guard isEmergency || signsAt <= now else { throw .leadNotOver(next.kid, signsAt: signsAt) }
            return [.promote(next.kid)]
        case .retire(let kid, let isEmergency):
            return try Self.retirement(Self.named(kid, records), isEmergency: isEmergency, at: now)
        case .compromise(let kid):
            return try Self.compromise(Self.named(kid, records), records)
        }
    }

    /// Whether a wrong clock makes it wrong too; in an emergency no clock is asked.
    package var restsOnTime: Bool {
        switch self {
        case .rotate: true
        case .promote(_, _, let isEmergency), .retire(_, let isEmergency): !isEmergency
        case .compromise: false
        }
    }

    private static func named(_ kid: String, _ records: [KeyRecord]) throws(KeyRefusal) -> KeyRecord {
        guard let record = records.first(where: { $0.kid == kid }) else { throw .unknown(kid) }
        return record
    }

    private static func next(
        _ kid: String?, _ purpose: KeyPurpose, _ records: [KeyRecord]
    ) throws(KeyRefusal) -> KeyRecord {
        guard let kid else {
            guard let next = records.next(of: purpose) else { throw .nothingWaits(purpose) }
            return next
        }
        let record = try named(kid, records)
        guard record.state == .next else { throw .isAlready(kid, record.state) }
        return record
    }

    private static func retirement(
        _ record: KeyRecord, isEmergency: Bool, at now: Timestamp
    ) throws(KeyRefusal) -> [KeyStep] {
        switch record.state {
        case .next: return [.remove(record.kid)]
        case .retired:
            guard isEmergency || record.lastTokenEndsAt <= now else {
                throw .tokensLive(record.kid, until: record.lastTokenEndsAt)
            }
            return [.remove(record.kid)]
        case .current: throw .signs(record.kid, record.purpose)
        case .removed, .compromised: throw .isAlready(record.kid, record.state)
        }
    }

    private static func compromise(_ record: KeyRecord, _ records: [KeyRecord]) throws(KeyRefusal) -> [KeyStep] {
        switch record.state {
        case .compromised: throw .isAlready(record.kid, record.state)
        case .next, .retired, .removed: return [.compromise(record.kid)]
        case .current:
            let successor = records.next(of: record.purpose).map { KeyStep.promote($0.kid) }
            return [.compromise(record.kid), successor ?? .make(record.purpose, .current)]
        }
    }
}

extension [KeyRecord] {
    fileprivate func next(of purpose: KeyPurpose) -> KeyRecord? {
        filter { $0.purpose == purpose }.oldestNext
    }
}

/// Why a command is not carried out; the description is for the operator.
package enum KeyRefusal: Error, Equatable, Sendable, CustomStringConvertible {
    case unknown(String)
    case waiting(String, signsAt: Timestamp)
    case nothingWaits(KeyPurpose)
    case leadNotOver(String, signsAt: Timestamp)
    case signs(String, KeyPurpose)
    case tokensLive(String, until: Timestamp)
    case isAlready(String, KeyState)

    package var description: String {
        switch self {
        case .unknown(let kid): "there is no key \(kid)"
        case .waiting(let kid, let signsAt): "\(kid) is waiting already and signs from \(signsAt.rfc3339)"
        case .nothingWaits(let purpose): "no next key is waiting: `\(Self.rotation(purpose))` makes one"
        case .leadNotOver(let kid, let signsAt):
            "\(kid) is not published long enough: it signs from \(signsAt.rfc3339). With --emergency it signs now, and "
                + "whoever has not read it yet refuses its tokens until then"
        case .signs(let kid, let purpose):
            "\(kid) signs: `\(Self.rotation(purpose))` brings a successor, `sallyport keys compromise` removes it at once"
        case .tokensLive(let kid, let until):
            "tokens of \(kid) may live until \(until.rfc3339). With --emergency it is removed now, and they are refused"
        case .isAlready(let kid, let state): "\(kid) is \(state.rawValue) already"
        }
    }

    private static func rotation(_ purpose: KeyPurpose) -> String {
        "sallyport keys rotate" + (purpose == .access ? "" : " --\(purpose.rawValue)")
    }
}
