import Primitives
import Testing

@testable import Postgres

@Suite("Binary format")
struct BinaryFormatTests {
    private func encoded(_ value: SQLValue) -> [UInt8] {
        var buffer: [UInt8] = []
        BinaryFormat.append(value, to: &buffer)
        return buffer
    }

    private func elements(_ bytes: [UInt8]) -> [[UInt8]?]? {
        bytes.withUnsafeBytes { buffer in
            BinaryFormat.elements(buffer, of: [25])?.map { $0.map { Array($0) } }
        }
    }

    private static let example: [UInt8] = [
        0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 25, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0x61, 0x62, 255, 255, 255, 255,
    ]

    @Test("the worked example is written and read as it stands")
    func example() {
        #expect(encoded(.textArray(["ab", nil])) == Self.example)
        #expect(elements(Self.example) == [[0x61, 0x62], nil])
    }

    @Test("an array that is cut off anywhere, or has bytes left over, is refused")
    func cut() {
        for count in 0..<Self.example.count { #expect(elements(Array(Self.example.prefix(count))) == nil) }
        #expect(elements(Self.example + [0]) == nil)
        #expect(elements([]) == nil)
    }

    @Test("counts and lengths beyond what is there are refused", arguments: [0, 12, 20])
    func counts(offset: Int) {
        for value: [UInt8] in [[0x7f, 255, 255, 255], [0x80, 0, 0, 0], [0, 0, 0, 9], [255, 255, 255, 254]] {
            var bytes = Self.example
            bytes.replaceSubrange(offset..<(offset + 4), with: value)
            #expect(elements(bytes) == nil)
        }
    }

    @Test("an array of another element type is refused")
    func elementType() {
        var bytes = Self.example
        bytes[11] = 17
        #expect(elements(bytes) == nil)
    }

    @Test("instants count from 2000, and the furthest ones are infinity")
    func instants() {
        #expect(encoded(.timestamp(Timestamp(secondsSinceEpoch: 946_684_800))) == [0, 0, 0, 0, 0, 0, 0, 0])
        #expect(encoded(.timestamp(Timestamp(microsecondsSinceEpoch: .min))) == [0x80, 0, 0, 0, 0, 0, 0, 0])
        #expect(
            encoded(.timestamp(Timestamp(microsecondsSinceEpoch: .max))) == [0x7f] + [UInt8](repeating: 0xff, count: 7))
        #expect(BinaryFormat.instant(ofMicroseconds: 1).microsecondsSinceEpoch == 946_684_800_000_001)
        #expect(BinaryFormat.instant(ofMicroseconds: .max).microsecondsSinceEpoch == .max)
        #expect(BinaryFormat.instant(ofMicroseconds: .min).microsecondsSinceEpoch == .min)
        #expect(BinaryFormat.instant(ofMicroseconds: .max - 1).microsecondsSinceEpoch == .max)
    }

    @Test("an integer of another width is refused")
    func integers() {
        let bytes: [UInt8] = [0, 0, 1, 0]
        bytes.withUnsafeBytes { buffer in
            #expect(BinaryFormat.integer(buffer, as: Int32.self) == 256)
            #expect(BinaryFormat.integer(buffer, as: Int64.self) == nil)
            #expect(BinaryFormat.integer(buffer, as: Int16.self) == nil)
        }
    }

    @Test("a queue gives back what it took, in order, however it is used")
    func queue() {
        var queue = Queue<Int>()
        var taken: [Int] = []
        for number in 0..<1_000 {
            queue.append(number)
            if number % 3 != 0, let first = queue.popFirst() { taken.append(first) }
        }
        #expect(queue.count == 1_000 - taken.count)
        queue.removeAll { $0 % 2 == 0 }
        taken += queue.removeAll()
        #expect(taken == taken.sorted())
        #expect(queue.isEmpty && queue.popFirst() == nil && queue.first == nil)
        queue.append(7)
        #expect(queue.first == 7)
    }
}
