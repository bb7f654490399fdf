import AuthDomain
import HTTP
import JSON
import Primitives
import Telemetry

/// Every row of the catalogue as it is answered, written by the writer of the answers itself.
///
/// An answer to a credential in the `Authorization` field may have another status and error than the same verdict on one
/// in the content; it is then named `…_bearer`.
struct ErrorExamples {
    private static let writer = FailureWriter(clock: ExampleClock(), random: ExampleRandom())

    static func response(_ code: APIErrorCode, to place: CredentialPlace) -> HTTPResponse {
        var failure = APIFailure(code)
        if case .refused(let reason) = code {
            failure.action = VerdictPolicy.careful.action(for: reason, isDeviceHeld: true)
            if failure.action == .lock || failure.action == .wipe { failure.proof = "header.verdict-claims.signature" }
        }
        return writer.response(failure, to: place, requestID: RequestID(random: ExampleRandom()))
    }

    static func name(_ code: APIErrorCode, to place: CredentialPlace) -> String {
        let isDifferent = code.row.answered(to: place).status != code.row.status
        return code.row.reason + (isDifferent ? "_bearer" : "")
    }

    /// `components.examples`: two causes that a client sees as one are one.
    static var components: JSONObject {
        var examples = JSONObject()
        for place in [CredentialPlace.content, .authorization] {
            for code in APIErrorCode.allCases {
                let content = response(code, to: place).content
                guard let value = try? JSONParser.parse(content) else { continue }
                examples[name(code, to: place)] = ["summary": .string(code.row.sentence), "value": value]
            }
        }
        return examples
    }

    private struct ExampleClock: WallClock {
        func now() -> Timestamp { Timestamp(secondsSinceEpoch: 1_790_000_000) }
    }

    private struct ExampleRandom: RandomSource {
        func bytes(_ count: Int) -> [UInt8] { [UInt8](repeating: 1, count: count) }
    }
}
