package import Primitives

/// A whole request, with the framing taken off.
package struct HTTPRequest: Sendable {
    package var method: HTTPMethod
    package var target: RequestTarget
    package var version: HTTPVersion
    package var fields: HTTPFields
    package var body: [UInt8]
    /// The address at the other end of the connection, filled in by its driver. Not taken from any field.
    package var peer: IPAddress
    /// How many requests its event loop has begun and not answered yet, this one included; filled in by the driver.
    package var concurrency = 1

    package init(
        method: HTTPMethod, target: RequestTarget, version: HTTPVersion = .http11, fields: HTTPFields = [:],
        body: [UInt8] = [], peer: IPAddress = .unspecified
    ) {
        self.method = method
        self.target = target
        self.version = version
        self.fields = fields
        self.body = body
        self.peer = peer
    }

    package init(head: RequestHead, body: [UInt8], peer: IPAddress) {
        self.init(
            method: head.method, target: head.target, version: head.version, fields: head.fields, body: body,
            peer: peer)
    }

    /// The query's fields, decoded when asked for.
    package func queryFields() throws(FormCoding.FormError) -> [(name: String, value: String)] {
        try target.queryFields()
    }

    /// What the client calls this server: the absolute form's authority, else `Host`; `nil` in a bare HTTP/1.0 request.
    package var authority: String? { target.authority ?? fields["host"] }

    /// The media type of the content, or `nil` when there is none or it is malformed.
    package var mediaType: MediaType? { fields["content-type"].flatMap { MediaType($0) } }
}

/// A request's head as the parser hands it out, with what it says about the body and the connection.
package struct RequestHead: Sendable {
    /// Source: RFC 9112 §6.3.
    package enum Framing: Hashable, Sendable {
        /// No content. `Content-Length: 0` too.
        case none
        /// This many bytes, at least one.
        case length(Int)
        case chunked
    }

    package var method: HTTPMethod
    package var target: RequestTarget
    package var version: HTTPVersion
    package var fields: HTTPFields
    package var framing: Framing
    /// Whether another request may follow on the connection. Source: RFC 9112 §9.3.
    package var keepsConnection: Bool
    /// Whether the client waits for `100 Continue` before it sends the content. Source: RFC 9110 §10.1.1.
    package var expectsContinue: Bool
}
