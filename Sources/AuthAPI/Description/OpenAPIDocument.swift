import HTTP
import JSON

/// The table of routes as an OpenAPI document. Source: OpenAPI 3.1.0 §4.8.1.
struct OpenAPIDocument {
    let routes: [Route]
    let version: ServerVersion
    let issuer: String

    var json: JSONObject {
        var paths = JSONObject()
        for route in routes {
            var operations = paths[route.pattern.text]?.objectValue ?? JSONObject()
            operations[route.method.name.lowercased()] = .object(OpenAPIOperation(route: route).json)
            paths[route.pattern.text] = .object(operations)
        }
        return [
            "openapi": "3.1.0",
            "info": [
                "title": "Sallyport", "version": .string(version.version),
                "description": """
                Refusals have one shape everywhere; a client follows `client_action`. Only a 4xx JSON answer of \
                `/auth/token` with `error_reason` and `client_action` is a verdict on a credential; anything else \
                says that the server could not be reached.
                """,
            ],
            "servers": [["url": .string(issuer)]],
            "paths": .object(paths),
            "components": [
                "securitySchemes": .object(Self.securitySchemes),
                "schemas": .object(JSONObject(APISchema.allCases.map { ($0.name, .object($0.schema)) })),
                "responses": .object(OpenAPIOperation.commonResponses),
                "examples": .object(ErrorExamples.components),
            ],
        ]
    }

    private static let securitySchemes: JSONObject = [
        Route.Access.sessionToken.rawValue: [
            "type": "http", "scheme": "bearer", "description": "A session token of the identity store.",
        ],
        Route.Access.accessToken.rawValue: [
            "type": "http", "scheme": "bearer", "bearerFormat": "JWT", "description": "An access token of this server.",
        ],
        Route.Access.resourceServer.rawValue: [
            "type": "http", "scheme": "basic", "description": "Id and secret of a resource server.",
        ],
    ]
}
