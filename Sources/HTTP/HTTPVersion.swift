/// The two versions that are served. A higher minor version of 1 counts as 1.1.
///
/// Source: RFC 9110 §2.5.
package enum HTTPVersion: Hashable, Sendable {
    case http10
    case http11
}
