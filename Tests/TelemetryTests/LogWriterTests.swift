import Glibc
import Telemetry
import Testing

@Suite("Log writer")
struct LogWriterTests {
    private let reading: Int32
    private let writer: LogWriter

    /// Packets, so that one read finds what one write has written.
    init() {
        var ends: [Int32] = [0, 0]
        precondition(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends) == 0, "no sockets")
        reading = ends[0]
        writer = LogWriter(descriptor: ends[1])
    }

    private func readOne() -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        return Array(buffer[..<max(0, read(reading, &buffer, buffer.count))])
    }

    @Test("a line that comes alone is written without a flush")
    func first() {
        for line in ["one\n", "two\n"] {
            writer.write(Array(line.utf8))
            #expect(readOne() == Array(line.utf8))
        }
    }

    @Test("all lines have left when a flush returns, whole and in their order")
    func order() {
        let lines = (0..<1_000).map { Array("line \($0)\n".utf8) }
        for line in lines { writer.write(line) }
        writer.flush()
        let all = Array(lines.joined())
        var written: [UInt8] = []
        while written.count < all.count { written += readOne() }
        #expect(written == all)
    }

    @Test("lines that come one after the other leave together")
    func gathering() {
        let start = ContinuousClock.now
        var lines = 0
        while ContinuousClock.now - start < .milliseconds(20) {
            writer.write([UInt8(ascii: "\n")])
            lines += 1
        }
        writer.flush()
        // A write in 5 ms, and those of the first line and of the flush.
        let most = 3 + Int((ContinuousClock.now - start) / .milliseconds(5))
        var packets = 0
        while lines > 0 {
            lines -= readOne().count
            packets += 1
        }
        #expect(packets <= most)
    }
}
