import AuthDomain
import AuthTesting
import Foundation
import HTTP
import JSON
import Testing

@testable import AuthAPI

@Suite("API description (OpenAPI 3.1)")
struct APIDescriptionTests {
    private let world = World()

    private func document() async throws -> JSONObject { try await world.send("GET", "/openapi.json").ok() }

    /// Shows every change of what is promised. After a change that is meant:
    /// `SALLYPORT_WRITE_FIXTURES=1 swift test --filter APIDescriptionTests`, and read the difference.
    @Test("it is the golden file, which a change of the table changes")
    func golden() async throws {
        let text = try await document().indented() + "\n"
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Fixtures/openapi.json")
        if ProcessInfo.processInfo.environment["SALLYPORT_WRITE_FIXTURES"] == "1" {
            try text.write(to: file, atomically: true, encoding: .utf8)
        }
        let golden = try String(contentsOf: file, encoding: .utf8)
        let (new, old) = (text.split(separator: "\n"), golden.split(separator: "\n"))
        let difference = new.difference(from: old)
        #expect(difference.isEmpty, "\(difference.prefix(6))")
    }

    @Test("every route is an operation with its own name, and nothing else is")
    func operations() async throws {
        let paths = try await document().object("paths")
        for route in world.api.table.routes {
            let operation = try paths.object(route.pattern.text).object(route.method.name.lowercased())
            #expect(operation["operationId"] == .string(route.operation))
        }
        let count = paths.members.reduce(0) { $0 + ($1.value.objectValue?.count ?? 0) }
        #expect(count == world.api.table.routes.count)
    }

    @Test("every error of the catalogue is an example, as it is answered")
    func catalogue() async throws {
        let examples = try await document().object("components").object("examples")
        for code in APIErrorCode.allCases {
            let value = try examples.object(code.row.reason).object("value")
            #expect(value["error_reason"] == .string(code.row.reason))
            #expect(value["error"] == .string(code.row.error.rawValue))
        }
        let lost = try examples.object("device_lost").object("value")
        #expect(lost["client_action"] == "wipe" && lost["proof"] != nil)
        #expect(try examples.object("access_expired").object("value")["client_action"] == "refresh")
    }

    @Test("each refusal of a route stands below the status that it is answered with")
    func refusals() async throws {
        let document = try await document()
        let paths = try document.object("paths")
        let common = try document.object("components").object("responses")
        for route in world.api.table.routes {
            let responses = try paths.object(route.pattern.text).object(route.method.name.lowercased())
                .object("responses")
            for code in route.allErrors {
                let status = code.row.answered(to: route.credentialPlace).status.code
                let own = try responses.object(String(status))
                let response = own["$ref"] == nil ? own : try common.object(String(status))
                let examples = try response.object("content").object("application/json").object("examples")
                #expect(examples[ErrorExamples.name(code, to: route.credentialPlace)] != nil, "\(route.operation)")
            }
        }
        let refresh = try paths.object("/auth/token").object("post").object("responses")
        #expect(refresh["400"] != nil && refresh["503"] != nil && refresh["429"] != nil)
    }

    @Test("references lead somewhere")
    func references() async throws {
        let document = try await document()
        var count = 0
        func walk(_ value: JSONValue) throws {
            switch value {
            case .array(let elements): for element in elements { try walk(element) }
            case .object(let object):
                if let reference = object["$ref"]?.stringValue {
                    count += 1
                    let parts = reference.split(separator: "/").dropFirst().map(String.init)
                    _ = try parts.reduce(document) { try $0.object($1) }
                }
                for (_, member) in object.members { try walk(member) }
            default: break
            }
        }
        try walk(.object(document))
        #expect(count > 200)
    }

    @Test("examples fit their schemas", arguments: APISchema.allCases.filter { $0 != .refusal })
    func examples(schema: APISchema) throws {
        #expect(schema.misfits(in: schema.example) == [])
    }

    @Test("real answers fit their schemas, and say nothing that is not described")
    func answers() async throws {
        let signedIn = try await world.signedIn()
        let session = world.session("session-2")
        let basic = "Authorization: Basic \(Data("api:\(World.resourceServerSecret)".utf8).base64EncodedString())"
        let form = "Content-Type: application/x-www-form-urlencoded"
        let introspected = try await world.send(
            "POST", "/auth/introspect", [form, basic], body: "token=\(signedIn.access)")
        let answers: [(APISchema, JSONObject)] = [
            (.tokens, signedIn.body), (.tokens, try await world.refresh(signedIn.refresh).ok()),
            (.tokens, try await world.exchange(session, device: []).ok()),
            (.sessionToken, try await world.get("/auth/token", bearer: session).ok()),
            (.introspection, try introspected.ok()),
            (.session, try await world.get("/auth/session", bearer: signedIn.access).ok()),
            (.deviceList, try await world.get("/auth/devices", bearer: signedIn.access).ok()),
            (.device, try await world.get("/auth/devices/\(signedIn.deviceID)", bearer: signedIn.access).ok()),
            (.currentDevice, try await world.get("/auth/devices/current", bearer: signedIn.access).ok()),
            (.keySet, try await world.send("GET", "/.well-known/jwks.json").ok()),
            (.serverMetadata, try await world.send("GET", "/.well-known/oauth-authorization-server").ok()),
            (.openIDConfiguration, try await world.send("GET", "/.well-known/openid-configuration").ok()),
            (.liveness, try await world.send("GET", "/livez").ok()),
            (.readiness, try await world.send("GET", "/readyz").ok()),
            (.version, try await world.send("GET", "/version").ok()),
            (.refusal, try await world.refresh("garbage").json()),
        ]
        for (schema, answer) in answers { #expect(schema.misfits(in: answer) == [], "\(schema)") }
    }

    @Test("a member too few, too many or of another kind is a misfit")
    func misfits() {
        var device = APISchema.device.example
        device["status"] = "asleep"
        #expect(APISchema.device.misfits(in: device) == ["status"])
        device["status"] = nil
        #expect(APISchema.device.misfits(in: device) == ["status"])
        var tokens = APISchema.tokens.example
        tokens["expires_in"] = "1800"
        tokens["colour"] = "blue"
        #expect(Set(APISchema.tokens.misfits(in: tokens)) == ["expires_in", "colour"])
    }
}
