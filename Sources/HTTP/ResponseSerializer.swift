/// Writes answers as HTTP/1.1 bytes.
///
/// Framing is decided here alone: exactly one `Content-Length`, or none where the status forbids content; never a
/// transfer coding. `Content-Length`, `Transfer-Encoding`, `Connection` and `Date` of a response's fields are dropped.
/// Source: RFC 9110 §6, RFC 9112 §6.
package enum ResponseSerializer {
    /// What the answer depends on beside the response.
    package struct Context: Sendable {
        /// The request was HEAD: the head of GET's answer, no content.
        package var isHead: Bool
        package var version: HTTPVersion
        /// Whether another request may follow. The caller has to close the connection when it says no.
        package var keepsConnection: Bool
        /// The value of `Date`: IMF-fixdate as ASCII.
        package var date: [UInt8]
        /// Whether the answer goes over TLS of our own: then it tells browsers to come by TLS alone for a year.
        package var isSecure: Bool

        package init(
            isHead: Bool, version: HTTPVersion, keepsConnection: Bool, date: [UInt8], isSecure: Bool = false
        ) {
            self.isHead = isHead
            self.version = version
            self.keepsConnection = keepsConnection
            self.date = date
            self.isSecure = isSecure
        }
    }

    /// `HTTP/1.1 100 Continue` and the empty line.
    package static let continueHead = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

    /// Appends the answer's bytes.
    package static func append(_ response: HTTPResponse, _ context: Context, to output: inout [UInt8]) {
        let content: [UInt8]
        switch response.body {
        case .prepared(let prepared):
            output.append(contentsOf: prepared.head)
            append(response.fields, to: &output)
            content = prepared.content
        case .bytes(let bytes):
            appendHead(response.status, response.fields, contentLength: bytes.count, to: &output)
            content = bytes
        case .none:
            appendHead(response.status, response.fields, contentLength: 0, to: &output)
            content = []
        }
        append("Date: ", to: &output)
        output.append(contentsOf: context.date)
        append("\r\n", to: &output)
        // RFC 6797 §7.2: over TLS alone, and once.
        if context.isSecure { append("Strict-Transport-Security: max-age=31536000\r\n", to: &output) }
        if !context.keepsConnection || response.closesConnection {
            append("Connection: close\r\n", to: &output)
        } else if context.version == .http10 {
            // RFC 9112 §9.3: a 1.0 client keeps the connection only when it is told so.
            append("Connection: keep-alive\r\n", to: &output)
        }
        append("\r\n", to: &output)
        if !context.isHead, !response.status.forbidsContent { output.append(contentsOf: content) }
    }

    static func renderedHead(status: HTTPStatus, fields: HTTPFields, contentLength: Int) -> [UInt8] {
        var head: [UInt8] = []
        appendHead(status, fields, contentLength: contentLength, to: &head)
        return head
    }

    private static func appendHead(
        _ status: HTTPStatus, _ fields: HTTPFields, contentLength: Int, to output: inout [UInt8]
    ) {
        append("HTTP/1.1 ", to: &output)
        appendDecimal(status.code, to: &output)
        append(" ", to: &output)
        append(status.reason, to: &output)
        append("\r\n", to: &output)
        append(fields, to: &output)
        // RFC 9110 §8.6: no Content-Length in 1xx and 204. In 304 it could only differ from GET's, so it stays out.
        guard !status.forbidsContent else { return }
        append("Content-Length: ", to: &output)
        appendDecimal(contentLength, to: &output)
        append("\r\n", to: &output)
    }

    private static func append(_ fields: HTTPFields, to output: inout [UInt8]) {
        for entry in fields.entries where !isFraming(entry, of: fields) {
            output.append(contentsOf: fields.bytes[entry.name])
            append(": ", to: &output)
            output.append(contentsOf: fields.bytes[entry.value])
            append("\r\n", to: &output)
        }
    }

    private static func isFraming(_ entry: HTTPFields.Entry, of fields: HTTPFields) -> Bool {
        switch entry.name.count {
        case 4: fields.isNamed(entry, "date")
        case 10: fields.isNamed(entry, "connection")
        case 14: fields.isNamed(entry, "content-length")
        case 17: fields.isNamed(entry, "transfer-encoding")
        default: false
        }
    }

    private static func append(_ text: StaticString, to output: inout [UInt8]) {
        text.withUTF8Buffer { output.append(contentsOf: $0) }
    }

    private static func appendDecimal(_ number: Int, to output: inout [UInt8]) {
        output.append(contentsOf: String(number).utf8)
    }
}
