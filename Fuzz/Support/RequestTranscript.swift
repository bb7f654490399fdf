package import HTTP
import Primitives

/// What a parser makes of a stream, comparable.
package struct RequestTranscript: Equatable {
    package struct Message: Equatable {
        package let request: HTTPRequest
        package let keepsConnection: Bool
        package let expectsContinue: Bool

        package static func == (left: Message, right: Message) -> Bool {
            let (one, other) = (left.request, right.request)
            return left.keepsConnection == right.keepsConnection && left.expectsContinue == right.expectsContinue
                && one.method == other.method && one.target == other.target && one.version == other.version
                && one.fields == other.fields && one.body == other.body
        }
    }

    package private(set) var messages: [Message] = []
    package private(set) var error: HTTPParseError?
    package private(set) var isCut = false
    /// Bytes of the stream that had been handed over when each message ended.
    package private(set) var ends: [Int] = []

    package static func == (left: RequestTranscript, right: RequestTranscript) -> Bool {
        left.messages == right.messages && left.error == right.error && left.isCut == right.isCut
    }

    /// - Parameter pieces: the stream as it arrives.
    package init(_ pieces: [ArraySlice<UInt8>], limits: HTTPLimits = HTTPLimits(bodyBytesMax: 8_192)) {
        var parser = RequestParser(limits: limits)
        var head: RequestHead?
        var handedOver = 0
        for piece in pieces {
            parser.append(piece)
            handedOver += piece.count
            events: while true {
                switch parser.next() {
                case .needMore: break events
                case .head(let next):
                    hold(head == nil, "a head does not follow a head")
                    head = next
                case .end(let body):
                    hold(head != nil, "an end follows a head")
                    guard let ended = head else { return }
                    messages.append(
                        Message(
                            request: HTTPRequest(head: ended, body: body, peer: .unspecified),
                            keepsConnection: ended.keepsConnection, expectsContinue: ended.expectsContinue))
                    ends.append(handedOver)
                    head = nil
                case .failed(let error):
                    self.error = error
                    return
                }
            }
        }
        isCut = parser.isInsideMessage
    }
}

/// The three oracles for one stream.
package func judge(_ stream: [UInt8]) {
    let whole = RequestTranscript([stream[...]])
    let bytewise = RequestTranscript(stream.indices.map { stream[$0...$0] })
    hold(bytewise == whole, "byte by byte the events are the same")
    let cut = stream.isEmpty ? 0 : Int(stream[stream.count / 2]) * stream.count / 256
    hold(RequestTranscript([stream[..<cut], stream[cut...]]) == whole, "in two pieces the events are the same")

    // Nothing behind a message matters to it: cut after its last byte, the messages up to there are the same.
    for (index, end) in bytewise.ends.enumerated().suffix(4) {
        let alone = RequestTranscript([stream[..<end]])
        hold(alone.error == nil && !alone.isCut, "a message ends with its last byte")
        hold(alone.messages == Array(whole.messages.prefix(index + 1)), "a message does not depend on what follows")
    }
    for message in whole.messages.prefix(4) { roundTrip(message) }
}

private func roundTrip(_ message: RequestTranscript.Message) {
    let request = message.request
    var bytes = Array("\(request.method.name) ".utf8)
    if let authority = request.target.authority { bytes += Array("http://\(authority)".utf8) }
    bytes += Array(request.target.path.utf8)
    if let query = request.target.query { bytes += Array("?\(query)".utf8) }
    bytes += Array((request.version == .http10 ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n").utf8)
    var seen: Set<String> = []
    for (name, _) in request.fields where seen.insert(name.lowercased()).inserted {
        // The framing was taken off: it is put on anew.
        if ["content-length", "transfer-encoding"].contains(name.lowercased()) { continue }
        for value in request.fields.valueBytes(of: name) {
            bytes += Array("\(name): ".utf8) + value + Array("\r\n".utf8)
        }
    }
    bytes += Array("Content-Length: \(request.body.count)\r\n\r\n".utf8) + request.body
    // The length is one field more than a request may have had.
    let again = RequestTranscript([bytes[...]], limits: HTTPLimits(fieldsMax: 101, fieldBytesMax: 32_768))
    hold(again.error == nil && again.messages.count == 1 && !again.isCut, "what was understood can be sent on")
    guard let other = again.messages.first?.request else { return }
    hold(
        other.method == request.method && other.target.path == request.target.path
            && other.target.query == request.target.query && other.target.authority == request.target.authority
            && other.body == request.body,
        "sent on, it means the same")
    for name in seen where !["content-length", "transfer-encoding"].contains(name) {
        hold(
            other.fields.valueBytes(of: name).map { Array($0) }
                == request.fields.valueBytes(of: name).map { Array($0) },
            "sent on, its fields are the same")
    }
}
