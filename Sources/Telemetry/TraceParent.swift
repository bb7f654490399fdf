/// The trace that a request belongs to, as `traceparent` says it.
///
///     00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
///
/// Source: W3C Trace Context §3.2.
package struct TraceParent: Equatable, Sendable {
    package let traceID: String
    package let spanID: String

    /// `nil` for anything that is not of that form, ids of zeros included: a log line takes no text of a client.
    package init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        // A later version may have more parts; ff is none.
        guard parts.count >= 4, Self.isHex(parts[0], 2), parts[0] != "ff", parts[0] != "00" || parts.count == 4,
            Self.isHex(parts[1], 32), Self.isHex(parts[2], 16), Self.isHex(parts[3], 2),
            parts[1].contains(where: { $0 != "0" }), parts[2].contains(where: { $0 != "0" })
        else { return nil }
        traceID = String(parts[1])
        spanID = String(parts[2])
    }

    private static func isHex(_ text: Substring, _ count: Int) -> Bool {
        text.utf8.count == count
            && text.utf8.allSatisfy {
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            }
    }
}
