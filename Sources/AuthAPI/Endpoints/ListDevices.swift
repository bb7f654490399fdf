import AuthDomain
import HTTP
import JSON

/// `GET /auth/devices`: the user's devices, the caller's own marked.
struct ListDevices: Sendable {
    let devices: DeviceService

    var route: Route {
        Route(
            "listDevices", .get, "/auth/devices", "The user's devices.", answers: [.ok(.deviceList)],
            handler: .caller(handle))
    }

    private func handle(_ request: APIRequest, _ caller: Caller) async throws(APIFailure) -> HTTPResponse {
        let list = try await domain { () async throws(AuthFailure) in try await devices.devices(caller) }
        return .json(["devices": .array(list.map { .object($0.json(for: caller)) })])
    }
}
