import AuthAPI

/// `address=6000,session=600`, either of them alone, `off` for one or for all. What is not named keeps its default.
enum RateLimitValue {
    private static let standard = RateLimits(
        address: RateLimit(perMinute: 6_000), session: RateLimit(perMinute: 600))

    static func read(_ text: String) throws(SettingFault) -> RateLimits {
        if text == "off" { return RateLimits(address: nil, session: nil) }
        var limits = standard
        var seen: Set<String> = []
        for item in try SettingValue.list(text) {
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, seen.insert(parts[0]).inserted else { throw fault }
            switch parts[0] {
            case "address": limits.address = try limit(parts[1])
            case "session": limits.session = try limit(parts[1])
            default: throw fault
            }
        }
        return limits
    }

    private static func limit(_ text: String) throws(SettingFault) -> RateLimit? {
        if text == "off" { return nil }
        guard let number = Int(text), (1...1_000_000).contains(number) else { throw fault }
        return RateLimit(perMinute: number)
    }

    private static let fault = SettingFault(
        "requests a minute from 1 to 1000000 such as address=6000,session=600, or off")
}
