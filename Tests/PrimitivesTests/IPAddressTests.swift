import Primitives
import Testing

@Suite("Addresses")
struct IPAddressTests {
    @Test(
        "an address is read and written in its shortest form",
        arguments: [
            ("192.0.2.1", "192.0.2.1"), ("0.0.0.0", "0.0.0.0"), ("255.255.255.255", "255.255.255.255"),
            ("::1", "::1"), ("2001:DB8:0:0:0:0:0:1", "2001:db8::1"), ("::ffff:192.0.2.1", "192.0.2.1"), ("::", "::"),
        ])
    func read(text: String, written: String) throws {
        let address = try #require(IPAddress(text))
        #expect(address.description == written)
        #expect(IPAddress(written) == address)
    }

    @Test(
        "what is not an address is refused",
        arguments: [
            "", " ", "192.0.2", "192.0.2.1 ", " 192.0.2.1", "192.0.2.256", "192.0.2.01", "0x7f.0.0.1", "127.1",
            "2130706433", "192.0.2.1:80", "192.0.2.1\0", "192.0.2.1/32", "[::1]", "::1%eth0", "1::2::3", "12345::",
            "localhost", "unknown", "_hidden", "١٩٢.0.2.1", String(repeating: "0:", count: 40) + "1",
        ])
    func refused(text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test("IPv4 is the same address however it is written, and no IPv6 address is")
    func mapped() throws {
        #expect(IPAddress("::ffff:c000:201") == IPAddress("192.0.2.1"))
        #expect(IPAddress("::192.0.2.1") != IPAddress("192.0.2.1"))
        #expect(try #require(IPAddress("::ffff:192.0.2.1")).isIPv4)
        #expect(try !#require(IPAddress("::1")).isIPv4)
        #expect(IPAddress(ipv4: 0xc000_0201) == IPAddress("192.0.2.1"))
    }

    @Test(
        "a prefix keeps its first bits",
        arguments: [
            ("2001:db8:1:2:3:4:5:6", 64, "2001:db8:1:2::"), ("2001:db8:1:2:3:4:5:6", 48, "2001:db8:1::"),
            ("2001:db8:1:2:3:4:5:6", 128, "2001:db8:1:2:3:4:5:6"), ("2001:db8::1", 0, "::"),
            ("2001:db8:ffff::ffff", 68, "2001:db8:ffff::"), ("192.0.2.77", 120, "192.0.2.0"),
            ("2001:db8::1", 1, "::"), ("ffff::", 1, "8000::"), ("::3", 127, "::2"),
        ])
    func prefix(text: String, bits: Int, kept: String) throws {
        #expect(try #require(IPAddress(text)).prefix(bits) == IPAddress(kept))
    }

    @Test(
        "a block holds the addresses that share its prefix",
        arguments: [
            ("10.0.0.0/8", "10.255.0.1"), ("10.1.2.3/8", "10.9.9.9"), ("10.0.0.0/8", "::ffff:10.1.1.1"),
            ("192.0.2.7", "192.0.2.7"), ("192.0.2.7/32", "192.0.2.7"), ("192.0.2.6/31", "192.0.2.7"),
            ("0.0.0.0/0", "203.0.113.9"), ("::/0", "2001:db8::1"), ("2001:db8::/32", "2001:db8:ffff::1"),
            ("::1", "::1"), ("fd00::/8", "fdff::1"),
        ])
    func holds(block: String, address: String) throws {
        #expect(try #require(CIDR(block)).contains(try #require(IPAddress(address))))
    }

    @Test(
        "and no others, of the other family above all",
        arguments: [
            ("10.0.0.0/8", "11.0.0.0"), ("10.0.0.0/8", "9.255.255.255"), ("192.0.2.7", "192.0.2.6"),
            ("192.0.2.6/31", "192.0.2.8"), ("::/0", "203.0.113.9"), ("0.0.0.0/0", "::1"),
            ("2001:db8::/33", "2001:db8:8000::1"), ("::1", "::2"), ("::1", "127.0.0.1"),
        ])
    func holdsNot(block: String, address: String) throws {
        #expect(try !#require(CIDR(block)).contains(try #require(IPAddress(address))))
    }

    @Test(
        "what is not a block is refused",
        arguments: [
            "", "/", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/8/8",
            "10.0.0.0/255.0.0.0",
            "10.0.0/8", "::1/129", "::1/", "[::1]/128", "localhost/8", "*", "10.0.0.0/ 8", "::ffff:0:0/96",
            "10.0.0.0/9999999999",
        ])
    func blockRefused(text: String) {
        #expect(CIDR(text) == nil)
    }
}
