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

    @Test("under 1 024 descriptors are few", arguments: [(1_023, true), (1_024, false)])
    func few(descriptors: Int, expected: Bool) {
        #expect(Capacity(descriptors: descriptors, memoryMax: nil).isShortOfDescriptors == expected)
    }
}
