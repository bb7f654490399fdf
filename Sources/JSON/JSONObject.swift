/// The members of a JSON object in the order they were written; each name once, compared byte by byte.
///
/// Lookup is a scan: our objects have some dozen members.
package struct JSONObject: Sendable {
    package private(set) var members: [(name: String, value: JSONValue)]

    package init() {
        members = []
    }

    /// - Precondition: no name twice.
    package init(_ members: [(String, JSONValue)]) {
        self.init()
        self.members.reserveCapacity(members.count)
        for (name, value) in members {
            precondition(self[name] == nil, "an object literal names each member once")
            self.members.append((name, value))
        }
    }

    /// The parser has proved that no name occurs twice.
    init(provedMembers members: [(name: String, value: JSONValue)]) {
        self.members = members
    }

    /// Setting replaces a member in its place or appends one; `nil` removes it. A member whose value is JSON's `null`
    /// is `.some(.null)`.
    package subscript(name: String) -> JSONValue? {
        get { members.first { areIdentical($0.name, name) }?.value }
        set {
            let index = members.firstIndex { areIdentical($0.name, name) }
            switch (index, newValue) {
            case (let index?, let value?): members[index].value = value
            case (let index?, nil): members.remove(at: index)
            case (nil, let value?): members.append((name, value))
            case (nil, nil): break
            }
        }
    }

    package var names: [String] { members.map(\.name) }
    package var count: Int { members.count }
    package var isEmpty: Bool { members.isEmpty }
}

extension JSONObject: Equatable {
    package static func == (left: JSONObject, right: JSONObject) -> Bool {
        left.members.elementsEqual(right.members) { areIdentical($0.name, $1.name) && $0.value == $1.value }
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init(elements)
    }
}
