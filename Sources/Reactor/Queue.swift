/// First in, first out, in amortised constant time: two arrays, one read from its end.
struct Queue<Element> {
    private var incoming: [Element] = []
    private var outgoing: [Element] = []

    var isEmpty: Bool { incoming.isEmpty && outgoing.isEmpty }

    mutating func push(_ element: Element) {
        incoming.append(element)
    }

    mutating func pop() -> Element? {
        if outgoing.isEmpty {
            swap(&incoming, &outgoing)
            outgoing.reverse()
        }
        return outgoing.popLast()
    }
}
