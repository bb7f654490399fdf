/// First in, first out, in constant time.
struct Queue<Element> {
    private var elements: [Element?] = []
    private var head = 0

    var count: Int { elements.count - head }
    var isEmpty: Bool { count == 0 }
    var first: Element? { isEmpty ? nil : elements[head] }

    mutating func append(_ element: Element) {
        elements.append(element)
    }

    mutating func popFirst() -> Element? {
        guard !isEmpty else { return nil }
        let element = elements[head]
        elements[head] = nil
        head += 1
        if head == elements.count {
            elements.removeAll(keepingCapacity: true)
            head = 0
        } else if head >= 64, head * 2 >= elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return element
    }

    mutating func removeAll() -> [Element] {
        let rest = elements[head...].compactMap { $0 }
        elements.removeAll()
        head = 0
        return rest
    }

    mutating func removeAll(where isOut: (Element) -> Bool) {
        elements = elements[head...].filter { $0.map { !isOut($0) } ?? false }
        head = 0
    }
}
