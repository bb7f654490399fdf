import AuthDomain
import HTTP
import Primitives

/// `DELETE /auth/devices?others=true`: every device of the user but the caller's.
///
/// The query says so in words: a client that builds the path of one device from an empty id must not end them all.
struct RevokeOtherDevices: Sendable {
    let devices: DeviceService

    var route: Route {
        Route(
            "revokeOtherDevices", .delete, "/auth/devices", "Revoke all of the user's devices but this one.",
            inputs: [RouteInput("others", .query, isRequired: true, values: ["true"])],
            errors: [.rejected(.malformed), .refused(.stepUpRequired)], handler: .caller(handle))
    }

    private func handle(_ request: APIRequest, _ caller: Caller) async throws(APIFailure) -> HTTPResponse {
        let fields: [(name: String, value: String)]
        do throws(FormCoding.FormError) {
            fields = try request.http.queryFields()
        } catch {
            throw APIFailure(.malformed, "The query is malformed.")
        }
        guard fields.filter({ $0.name == "others" }).map(\.value) == ["true"] else {
            throw APIFailure(.malformed, "others=true is missing.")
        }
        try await domain { () async throws(AuthFailure) in try await devices.revokeOthers(caller) }
        return .noContent
    }
}
