package import JSON

/// The operator's own claims, after the reserved names are taken out (contract 2.4).
package struct CustomClaims: Equatable, Sendable {
    package enum Failure: Error, Equatable, Sendable {
        case notAnObject
        case tooLarge
    }

    package static let none = CustomClaims(members: JSONObject(), dropped: [])

    package let members: JSONObject
    /// Names that were returned and may not be set; for the log.
    package let dropped: [String]

    private init(members: JSONObject, dropped: [String]) {
        self.members = members
        self.dropped = dropped
    }

    /// - Parameter json: what `sallyport.custom_claims` returned.
    package init(json: [UInt8]) throws(Failure) {
        guard let object = (try? JSONParser.parse(json))?.objectValue else { throw .notAnObject }
        guard object.encoded().count <= Limits.customClaimsBytesMax else { throw .tooLarge }
        var members = JSONObject()
        var dropped: [String] = []
        for (name, value) in object.members {
            if Self.mayBeSet(name, value) {
                members[name] = value
            } else {
                dropped.append(name)
            }
        }
        self.init(members: members, dropped: dropped)
    }

    private static let reserved: Set<String> = [
        "iss", "sub", "aud", "exp", "nbf", "iat", "jti", "client_id", "scope", "sid", "device_id", "email_verified",
        "auth_time", "amr", "acr", "act", "may_act", "cnf",
    ]

    private static func mayBeSet(_ name: String, _ value: JSONValue) -> Bool {
        // PowerSync refuses a token whose `parameters` is anything but an object.
        if name == "parameters" { return value.objectValue != nil }
        return !reserved.contains(name) && !name.utf8.starts(with: "sallyport".utf8)
    }
}
