/// How many connections one client address may have: a number, `off`, or the default of a quarter of the process's.
enum AddressShare: Equatable {
    case quarter
    case count(Int)
    case off

    static func read(_ text: String) throws(SettingFault) -> AddressShare {
        if text == "off" { return .off }
        guard let number = Int(text), (1...1_000_000).contains(number) else {
            throw SettingFault("connections from 1 to 1000000, or off")
        }
        return .count(number)
    }

    /// `nil`: no limit.
    func connections(of total: Int) -> Int? {
        switch self {
        case .quarter: max(1, total / 4)
        case .count(let count): count
        case .off: nil
        }
    }
}
