/// Which part of the interface a path belongs to. It decides what pages of other origins may read, and what is limited.
package enum PathArea: Sendable {
    /// `/auth/…`: for pages of the trusted origins.
    case auth
    /// `/.well-known/…` and the description of the API: public, for pages of every origin.
    case published
    /// Everything else, health and metrics above all: for no page.
    case operations

    init(_ path: some Collection<UInt8>) {
        if path.starts(with: "/auth/".utf8) {
            self = .auth
        } else if path.starts(with: "/.well-known/".utf8) || path.elementsEqual("/openapi.json".utf8) {
            self = .published
        } else {
            self = .operations
        }
    }
}
