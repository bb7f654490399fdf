/// An answer as it came over the wire.
struct WireResponse: Sendable {
    let status: Int
    let fields: [(name: String, value: String)]
    let body: [UInt8]

    func field(_ name: String) -> String? {
        fields.first { $0.name == name }?.value
    }

    /// The whole answers in the bytes, interim ones included; what is not whole yet is left out.
    ///
    /// - Parameter firstIsHead: the first final answer has no content whatever its fields say.
    static func parse(_ bytes: [UInt8], firstIsHead: Bool) -> [WireResponse] {
        var responses: [WireResponse] = []
        var rest = bytes[...]
        var finalCount = 0
        while let headEnd = endOfHead(rest) {
            let lines = latin1(rest[..<(headEnd - 4)]).split(separator: "\r\n", omittingEmptySubsequences: false)
            guard let statusLine = lines.first, statusLine.hasPrefix("HTTP/1.1 "),
                let status = Int(statusLine.dropFirst(9).prefix(3))
            else { return responses }
            let fields = lines.dropFirst().map { line in
                let colon = line.firstIndex(of: ":") ?? line.endIndex
                let value = line[colon...].dropFirst()
                return (line[..<colon].lowercased(), String(value.drop { $0 == " " }))
            }
            let length = fields.first { $0.0 == "content-length" }.flatMap { Int($0.1) } ?? 0
            let isBodiless = status < 200 || status == 204 || status == 304 || (firstIsHead && finalCount == 0)
            let bodyEnd = headEnd + (isBodiless ? 0 : length)
            guard bodyEnd <= rest.endIndex else { return responses }
            responses.append(WireResponse(status: status, fields: fields, body: Array(rest[headEnd..<bodyEnd])))
            if status >= 200 { finalCount += 1 }
            rest = rest[bodyEnd...]
        }
        return responses
    }

    private static func endOfHead(_ bytes: ArraySlice<UInt8>) -> Int? {
        var index = bytes.startIndex
        while index + 4 <= bytes.endIndex {
            if bytes[index..<index + 4].elementsEqual("\r\n\r\n".utf8) { return index + 4 }
            index += 1
        }
        return nil
    }
}
