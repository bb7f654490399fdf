import AuthDomain
import HTTP
import JSON
import Primitives

/// What a request says of the device it comes from, in header fields, in members of its content, or in both.
///
/// ```text
/// X-Device-OS-Version: 17.5      device_os_version=17.5      the field's name in lower case, without X-
/// ```
struct DeviceParameters {
    let metadata: DeviceMetadata?
    let push: PushRegistration?

    static let fieldNames = [
        "X-Device-Id", "X-Device-Platform", "X-Device-Name", "X-Device-Model", "X-Device-OS-Version", "X-App-Version",
        "X-Device-Push-Token", "X-Device-Push-Provider",
    ]

    static let inputs =
        fieldNames.map { RouteInput($0, .header) } + fieldNames.map { RouteInput(memberName(of: $0), .content) }

    /// - Parameter content: `nil` where the request has none.
    init(_ request: APIRequest, content: ContentParameters? = nil) throws(APIFailure) {
        let id = try Self.value("X-Device-Id", request, content)
        let platform = try Self.value("X-Device-Platform", request, content)
        let name = try Self.value("X-Device-Name", request, content)
        let model = try Self.value("X-Device-Model", request, content)
        let osVersion = try Self.value("X-Device-OS-Version", request, content)
        let appVersion = try Self.value("X-App-Version", request, content)
        let pushToken = try Self.value("X-Device-Push-Token", request, content)
        let pushProvider = try Self.value("X-Device-Push-Provider", request, content)

        guard let id else {
            // The app's version alone is what many apps send with everything; the rest describes a device without a name.
            guard [platform, name, model, osVersion, pushToken, pushProvider].allSatisfy({ $0 == nil }) else {
                throw APIFailure(.deviceMalformed, "A device is described without its id.")
            }
            metadata = nil
            push = nil
            return
        }
        metadata = try parsed { () throws(RequestFault) in
            try DeviceMetadata(
                installationID: id, platform: platform, name: name, model: model, osVersion: osVersion,
                appVersion: appVersion)
        }
        switch (pushToken, pushProvider) {
        case (nil, nil): push = nil
        case (let token?, let provider?):
            push = try parsed { () throws(RequestFault) in try PushRegistration(token: token, provider: provider) }
        case (_?, nil), (nil, _?):
            throw APIFailure(.deviceMalformed, "A push token and its provider come together.")
        }
    }

    /// `X-Device-OS-Version` → `device_os_version`.
    static func memberName(of fieldName: String) -> String {
        String(fieldName.dropFirst(2).lowercased().map { $0 == "-" ? "_" : $0 })
    }

    /// Both places have to agree where both are used: which one would win is nothing a client should have to know.
    private static func value(
        _ name: String, _ request: APIRequest, _ content: ContentParameters?
    ) throws(APIFailure) -> String? {
        let field = try request.field(name).flatMap { $0.isEmpty ? nil : $0 }
        guard let member = try content?.text(memberName(of: name)) else { return field }
        guard let field else { return member }
        guard areIdentical(field, member) else {
            throw APIFailure(.deviceMalformed, "The header and the content describe different devices.")
        }
        return field
    }
}
