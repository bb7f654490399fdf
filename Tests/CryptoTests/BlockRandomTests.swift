import Crypto
import Testing

@Suite("Random bytes by the block")
struct BlockRandomTests {
    @Test("each draw has the bytes that were asked for, and none of 16 comes twice, over many blocks")
    func draws() {
        let random = BlockRandom()
        let drawn = (0..<5_000).map { _ in random.bytes(16) }
        #expect(drawn.allSatisfy { $0.count == 16 })
        #expect(Set(drawn).count == drawn.count)
    }

    @Test("any length is given", arguments: [0, 1, 1_023, 1_024, 1_025, 10_000])
    func lengths(count: Int) {
        let random = BlockRandom()
        for _ in 0..<3 { #expect(random.bytes(count).count == count) }
    }
}
