package import Primitives

/// What a request asks for: a path and a query, both as sent.
///
/// ```text
/// GET /auth/devices/a%2Fb?limit=5           path "/auth/devices/a%2Fb", segments auth, devices, a/b, query "limit=5"
/// GET http://a.example/livez                absolute form: the authority is checked against `Host` by the parser
/// OPTIONS *                                 asterisk form: path "*", no segments
/// ```
/// It may share the bytes of a whole request head. Source: RFC 9112 §3.2, RFC 3986 §3.
package struct RequestTarget: Sendable {
    package enum Form: Hashable, Sendable {
        case origin
        case absolute
        case asterisk
    }

    private let bytes: [UInt8]
    private let layout: TargetLayout

    init(bytes: [UInt8], layout: TargetLayout) {
        self.bytes = bytes
        self.layout = layout
    }

    /// - Returns: `nil` when a request line with this target would be refused.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard let layout = TargetLayout(bytes.span, 0..<bytes.count) else { return nil }
        self.init(bytes: bytes, layout: layout)
    }

    package var form: Form { layout.form }

    /// As sent: percent-encoding is still there. "/" where an absolute form has no path.
    package var path: String {
        layout.path.isEmpty ? "/" : String(decoding: bytes[layout.path], as: UTF8.self)
    }

    /// As sent, without its question mark; `nil` when there is none.
    package var query: String? {
        layout.query.map { String(decoding: bytes[$0], as: UTF8.self) }
    }

    /// `host[:port]` of the absolute form.
    package var authority: String? {
        layout.authority.map { String(decoding: bytes[$0], as: UTF8.self) }
    }

    /// The query's fields in the order sent; none when there is no query.
    package func queryFields() throws(FormCoding.FormError) -> [(name: String, value: String)] {
        guard let query = layout.query else { return [] }
        return try FormCoding.decode(bytes[query])
    }

    /// The parts between the slashes, percent-decoded; an encoded slash stays inside its part. "/" has none.
    ///
    /// `nil` when the path cannot name anything here: an empty, "." or ".." part, a part that is not UTF-8 or holds a
    /// control character, or the asterisk form.
    package var segments: [String]? {
        guard form != .asterisk else { return nil }
        let path = pathBytes
        guard path.count > 1 else { return [] }
        var segments: [String] = []
        for piece in path.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            guard let segment = PathSegment.decode(piece) else { return nil }
            segments.append(segment)
        }
        return segments
    }

    /// As `path`, but empty where an absolute form has none.
    package var pathBytes: ArraySlice<UInt8> { bytes[layout.path] }
}

extension RequestTarget: Hashable {
    package static func == (left: RequestTarget, right: RequestTarget) -> Bool {
        left.path == right.path && left.query == right.query && left.authority == right.authority
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(path)
        hasher.combine(query)
    }
}

/// One part of a path between two slashes.
enum PathSegment {
    /// - Returns: the decoded text, or `nil` for a part that names nothing (see `RequestTarget.segments`).
    static func decode(_ piece: ArraySlice<UInt8>) -> String? {
        let decoded = piece.contains(UInt8(ascii: "%")) ? PercentCoding.decode(piece) : Array(piece)
        guard let decoded, !decoded.isEmpty, !decoded.contains(where: { $0 < 0x20 || $0 == 0x7f }),
            let text = String(validating: decoded, as: UTF8.self)
        else { return nil }
        // Dot segments are compared after decoding: "%2e%2e" climbs as well as "..".
        return text == "." || text == ".." ? nil : text
    }
}
