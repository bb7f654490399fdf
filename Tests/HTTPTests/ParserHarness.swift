import HTTP
import Primitives

/// What a parser makes of some bytes, as a transcript that can be compared.
enum ParserHarness {
    struct Transcript: Equatable {
        var requests: [HTTPRequest] = []
        var keepsConnection: [Bool] = []
        var expectsContinue: [Bool] = []
        var error: HTTPParseError?
        /// The stream ended inside a message.
        var isCut = false

        static func == (left: Transcript, right: Transcript) -> Bool {
            left.keepsConnection == right.keepsConnection && left.expectsContinue == right.expectsContinue
                && left.error == right.error && left.isCut == right.isCut
                && left.requests.elementsEqual(right.requests) { one, other in
                    one.method == other.method && one.target == other.target && one.version == other.version
                        && one.fields == other.fields && one.body == other.body
                }
        }
    }

    /// - Parameter pieces: the stream as it arrives.
    static func run(_ pieces: [ArraySlice<UInt8>], limits: HTTPLimits = HTTPLimits()) -> Transcript {
        var parser = RequestParser(limits: limits)
        var transcript = Transcript()
        var head: RequestHead?
        for piece in pieces {
            parser.append(piece)
            events: while true {
                switch parser.next() {
                case .needMore: break events
                case .head(let next):
                    head = next
                case .end(let body):
                    guard let ended = head else { break events }
                    transcript.requests.append(HTTPRequest(head: ended, body: body, peer: .unspecified))
                    transcript.keepsConnection.append(ended.keepsConnection)
                    transcript.expectsContinue.append(ended.expectsContinue)
                    head = nil
                case .failed(let error):
                    transcript.error = error
                    return transcript
                }
            }
        }
        transcript.isCut = parser.isInsideMessage
        return transcript
    }

    static func run(_ bytes: [UInt8], limits: HTTPLimits = HTTPLimits()) -> Transcript {
        run([bytes[...]], limits: limits)
    }

    static func run(_ text: String, limits: HTTPLimits = HTTPLimits()) -> Transcript {
        run(latin1(text), limits: limits)
    }

    /// One byte at a time.
    static func runBytewise(_ bytes: [UInt8], limits: HTTPLimits = HTTPLimits()) -> Transcript {
        run(bytes.indices.map { bytes[$0...$0] }, limits: limits)
    }

    /// In two pieces.
    static func run(_ bytes: [UInt8], splitAt index: Int, limits: HTTPLimits = HTTPLimits()) -> Transcript {
        run([bytes[..<index], bytes[index...]], limits: limits)
    }

    /// The places to split: all of them up to 1 024 bytes, else a few hundred, the ends among them.
    static func splits(of count: Int) -> [Int] {
        count <= 1_024
            ? Array(0...count) : Array(stride(from: 0, through: count, by: count / 256)) + [count - 1, count]
    }
}
