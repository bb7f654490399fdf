import Testing

@testable import SallyportServer

@Suite("Capacity")
struct CapacityTests {
    @Test(
        "connections follow the descriptors, some of which are kept back, between two bounds",
        arguments: [(1_048_576, 12_288), (12_416, 12_288), (12_415, 12_287), (1_024, 896), (140, 16), (64, 16)])
    func connections(descriptors: Int, expected: Int) {
        #expect(Capacity(descriptors: descriptors, memoryMax: nil).connectionsMax == expected)
    }

    @Test(
        "one address has a quarter of the connections, what is set, or no limit",
        arguments: [
            (AddressShare.quarter, 12_288, 3_072 as Int?), (.quarter, 16, 4), (.count(7), 12_288, 7), (.off, 16, nil),
        ])
    func share(share: AddressShare, connections: Int, expected: Int?) {
        #expect(share.connections(of: connections) == expected)
    }

    @Test("under 1 024 descriptors are few", arguments: [(1_023, true), (1_024, false)])
    func few(descriptors: Int, expected: Bool) {
        #expect(Capacity(descriptors: descriptors, memoryMax: nil).isShortOfDescriptors == expected)
    }
}
