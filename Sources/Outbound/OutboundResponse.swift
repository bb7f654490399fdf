import CCurl
package import Primitives

/// An answer from elsewhere: nothing in it is trusted, and a redirect is an answer like any other.
package struct OutboundResponse: Sendable {
    package let status: Int
    /// In the order sent, of the last answer.
    package let fields: [(name: String, value: String)]
    package let body: [UInt8]
    package let duration: Duration

    package init(status: Int, fields: [(name: String, value: String)], body: [UInt8], duration: Duration) {
        self.status = status
        self.fields = fields
        self.body = body
        self.duration = duration
    }

    /// The first value of a field, whatever the letter case of its name.
    package func field(_ name: String) -> String? {
        let name = name.lowercased()
        return fields.first { $0.name.lowercased() == name }?.value
    }

    /// When the answer was made, by the other machine's clock.
    package var date: Timestamp? {
        guard let date = field("date") else { return nil }
        let seconds = curl_getdate(date, nil)
        return seconds < 0 ? nil : Timestamp(secondsSinceEpoch: Int64(seconds))
    }
}
