/// An answer. Framing (`Content-Length`, `Connection`, `Date`) is the serializer's: such fields here are ignored.
package struct HTTPResponse: Sendable {
    package enum Body: Sendable {
        case none
        case bytes([UInt8])
        /// Head and content rendered before; `status` has to be its status, `fields` are sent in addition.
        case prepared(PreparedResponse)
    }

    package var status: HTTPStatus
    package var fields: HTTPFields
    package var body: Body
    /// Whether the connection ends after this answer.
    package var closesConnection: Bool

    package init(
        status: HTTPStatus, fields: HTTPFields = [:], body: Body = .none, closesConnection: Bool = false
    ) {
        self.status = status
        self.fields = fields
        self.body = body
        self.closesConnection = closesConnection
    }

    package init(_ prepared: PreparedResponse, fields: HTTPFields = [:]) {
        self.init(status: prepared.status, fields: fields, body: .prepared(prepared))
    }

    /// The content as a client of GET gets it.
    package var content: [UInt8] {
        switch body {
        case .none: []
        case .bytes(let bytes): bytes
        case .prepared(let prepared): prepared.content
        }
    }

    /// The field as a client gets it, from `fields` or from the prepared part.
    package func hasField(_ name: String) -> Bool {
        if fields.contains(name) { return true }
        guard case .prepared(let prepared) = body else { return false }
        return prepared.fields.contains(name)
    }

    package func field(_ name: String) -> String? {
        if let value = fields[name] { return value }
        guard case .prepared(let prepared) = body else { return nil }
        return prepared.fields[name]
    }
}

/// An answer that many requests get, rendered once: status line, fields and `Content-Length` as bytes, and the content.
///
/// A HEAD request gets the same head alone. Only `Date` and, where needed, `Connection` are added per answer.
package struct PreparedResponse: Sendable {
    package let status: HTTPStatus
    package let fields: HTTPFields
    package let content: [UInt8]
    /// Everything up to the last field, with its line end, without the empty line.
    let head: [UInt8]

    package init(status: HTTPStatus, fields: HTTPFields, content: [UInt8]) {
        self.status = status
        self.fields = fields
        self.content = status.forbidsContent ? [] : content
        head = ResponseSerializer.renderedHead(status: status, fields: fields, contentLength: content.count)
    }
}
