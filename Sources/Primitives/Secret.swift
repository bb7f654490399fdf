/// A value that no log line, error or description may show.
///
/// It prints as `[redacted]` whatever prints it, and compares in constant time where it holds bytes. Reading it takes
/// the word `exposed`, which a reviewer can search for.
package struct Secret<Value: Sendable>: Sendable {
    package let exposed: Value

    package init(_ value: Value) {
        exposed = value
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "[redacted]" }
    package var debugDescription: String { "[redacted]" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension Secret: Equatable where Value == [UInt8] {
    package static func == (left: Secret, right: Secret) -> Bool {
        areEqualInConstantTime(left.exposed, right.exposed)
    }
}

/// Looks at every byte whatever the first ones say; only the lengths show in its time.
package func areEqualInConstantTime(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    var difference: UInt8 = 0
    for index in left.indices { difference |= left[index] ^ right[index] }
    return difference == 0
}
