extension StringProtocol {
    /// Whether `part` stands in the text, byte by byte.
    ///
    /// The library's own search of a text in a text comes with the engine of regular expressions, a seventh of the binary.
    package func holds(_ part: String) -> Bool {
        Array(utf8).firstIndex(of: Array(part.utf8), from: 0) != nil
    }
}

extension [UInt8] {
    /// Where `part` begins, at `start` or later. `part` is not empty.
    package func firstIndex(of part: [UInt8], from start: Int) -> Int? {
        guard count >= part.count, start <= count - part.count else { return nil }
        return (start...(count - part.count)).first { index in
            self[index] == part[0] && self[index..<(index + part.count)].elementsEqual(part)
        }
    }
}
