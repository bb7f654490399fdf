import HTTP
import Primitives
import Testing

@Suite("Whose request it is")
struct TrustedProxiesTests {
    /// 10.0.0.0/8 and 2001:db8:aaaa::/48 are ours; the connection comes from 10.0.0.1.
    private func client(_ lines: [String], from peer: String = "10.0.0.1") throws -> String {
        let networks = ["10.0.0.0/8", "2001:db8:aaaa::/48"].compactMap { CIDR($0) }
        var fields = HTTPFields()
        for line in lines {
            let parts = line.split(separator: ":", maxSplits: 1).map(String.init)
            fields.append(try #require(HTTPFieldName(parts[0])), parts[1])
        }
        let request = HTTPRequest(
            method: .get, target: try #require(RequestTarget("/")), fields: fields,
            peer: try #require(IPAddress(peer)))
        return TrustedProxies(networks).client(of: request).description
    }

    @Test(
        "the address behind the trusted proxies is the client's",
        arguments: [
            (["X-Forwarded-For: 203.0.113.7"], "203.0.113.7"),
            (["x-forwarded-for:203.0.113.7:4711"], "203.0.113.7"),
            (["X-Forwarded-For: 2001:db8::17"], "2001:db8::17"),
            (["X-Forwarded-For: [2001:db8::17]"], "2001:db8::17"),
            (["X-Forwarded-For: [2001:db8::17]:4711"], "2001:db8::17"),
            (["X-Forwarded-For: ::ffff:203.0.113.7"], "203.0.113.7"),
            (["X-Forwarded-For: 203.0.113.7, 10.0.0.2"], "203.0.113.7"),
            (["X-Forwarded-For: 203.0.113.7 ,\t10.0.0.3,2001:db8:aaaa::1"], "203.0.113.7"),
            (["X-Forwarded-For: 10.0.0.9, 10.0.0.2"], "10.0.0.9"),
            (["Forwarded: for=203.0.113.7"], "203.0.113.7"),
            (["Forwarded: For=\"203.0.113.7:4711\""], "203.0.113.7"),
            (["Forwarded: by=10.0.0.1; FOR = x;for=y"], "10.0.0.1"),
            (["Forwarded: proto=https;for=203.0.113.7;by=\"[::1]\";host=\"a,b\""], "203.0.113.7"),
            (["Forwarded: for=\"[2001:db8::17]\""], "2001:db8::17"),
            (["Forwarded: for=\"[2001:db8::17]:4711\" ; proto=http"], "2001:db8::17"),
            (["Forwarded: for=\"[2001:db8::17]:_port\""], "2001:db8::17"),
            (["Forwarded: for=\"203.0.\\113.7\""], "203.0.113.7"),
            (["Forwarded: for=203.0.113.7, for=10.0.0.2;host=\"a, \\\"b\""], "203.0.113.7"),
            (["Forwarded: for=203.0.113.7;secret=\"x\\\\\", for=10.0.0.2"], "203.0.113.7"),
            (["X-Forwarded-For: 203.0.113.7", "X-Forwarded-For: 10.0.0.2"], "203.0.113.7"),
            (["Forwarded: for=203.0.113.7", "Forwarded: for=10.0.0.3, for=10.0.0.2"], "203.0.113.7"),
            (["Forwarded: for=203.0.113.7", "X-Forwarded-For: 203.0.113.7"], "203.0.113.7"),
        ])
    func found(lines: [String], expected: String) throws {
        #expect(try client(lines) == expected)
    }

    @Test(
        "what a client writes left of its own address is not read",
        arguments: [
            ["X-Forwarded-For: 198.51.100.1, 203.0.113.7"], ["X-Forwarded-For: 10.0.0.5, 203.0.113.7, 10.0.0.2"],
            ["X-Forwarded-For: \", 203.0.113.7"], ["X-Forwarded-For: ,,, 203.0.113.7"],
            ["X-Forwarded-For: 198.51.100.1", "X-Forwarded-For: 203.0.113.7"],
            ["Forwarded: for=198.51.100.1, for=203.0.113.7"], ["Forwarded: for=\", for=203.0.113.7"],
            ["Forwarded: for=\"x, for=203.0.113.7;host=\"a\""], ["Forwarded: for=\\, for=\"203.0.113.7\""],
            ["Forwarded: for=198.51.100.1;x=\"\\", "Forwarded: for=203.0.113.7"],
            ["Forwarded: ;;;=\"\"\", for=203.0.113.7;proto=http"],
        ])
    func spoofed(lines: [String]) throws {
        #expect(try client(lines) == "203.0.113.7")
    }

    @Test(
        "a hop that names no address ends the walk at the last one that is believed",
        arguments: [
            "unknown", "_hidden", "_SEVKISEK", "", " ", "203.0.113", "203.0.113.256", "203.0.113.7 198.51.100.1",
            "203.0.113.7;", "203.0.113.7:", "203.0.113.7:x", "203.0.113.7:123456", "[203.0.113.7]", "[2001:db8::17",
            "2001:db8::17]", "[2001:db8::17]x", "[2001:db8::17]:", "[]", "[", "localhost", "client.example",
            "2001:db8::17%eth0", "\"203.0.113.7\"", "for=203.0.113.7", "203.0.113.007", "0xcb.0.113.7", "*",
        ])
    func malformed(hop: String) throws {
        #expect(try client(["X-Forwarded-For: 198.51.100.1, \(hop)"]) == "10.0.0.1")
        #expect(try client(["X-Forwarded-For: 198.51.100.1, \(hop), 10.0.0.2"]) == "10.0.0.2")
    }

    @Test(
        "an element of Forwarded that is not one ends the walk too",
        arguments: [
            "for=unknown", "for=_hidden", "for=\"_hidden:80\"", "for=", "for=\"\"", "for", "=203.0.113.7", "",
            "203.0.113.7", "by=203.0.113.7", "for=203.0.113.7;for=203.0.113.7", "for=203.0.113.7;for=198.51.100.1",
            "for=203.0.113.7:4711", "for=[2001:db8::17]", "for=\"2001:db8::17\"", "for=2001:db8::17",
            "for=\"203.0.113.7\"x", "for=203.0.113.7;;proto=http", "for=203.0.113.7;", "for =203.0.113.7",
            "for= 203.0.113.7", "for=203.0.113.7 proto=http", "for='203.0.113.7'", "xfor=203.0.113.7",
        ])
    func malformedElement(element: String) throws {
        #expect(try client(["Forwarded: for=198.51.100.1, \(element)"]) == "10.0.0.1")
        #expect(try client(["Forwarded: for=198.51.100.1, \(element), for=10.0.0.2"]) == "10.0.0.2")
    }

    @Test("a peer that is no trusted proxy is the client, whatever it sends")
    func untrustedPeer() throws {
        for lines in [["X-Forwarded-For: 10.0.0.9"], ["Forwarded: for=10.0.0.9"], []] {
            #expect(try client(lines, from: "192.0.2.1") == "192.0.2.1")
            #expect(try client(lines, from: "::1") == "::1")
        }
        let anybody = HTTPRequest(
            method: .get, target: try #require(RequestTarget("/")), fields: ["X-Forwarded-For": "203.0.113.7"],
            peer: try #require(IPAddress("127.0.0.1")))
        #expect(TrustedProxies().client(of: anybody).description == "127.0.0.1")
    }

    @Test("a trusted proxy that names nobody is the client itself")
    func namesNobody() throws {
        #expect(try client([]) == "10.0.0.1")
        #expect(try client(["X-Real-IP: 203.0.113.7"]) == "10.0.0.1")
        #expect(try client(["X-Forwarded-Host: 203.0.113.7"]) == "10.0.0.1")
    }

    @Test("nothing that a client writes changes what the proxies wrote behind it")
    func anything() throws {
        // Small and fixed: the same texts each time.
        var seed: UInt64 = 42
        func next(_ count: Int) -> Int {
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(seed >> 33) % count
        }
        let pieces = [
            "\"", "\\", ",", ";", "=", " ", "for=", "for=\"", "[", "]", ":", "10.0.0.5", "198.51.100.1", "unknown",
            "_x",
            "\t", "ü", "for=10.0.0.5", "host=\"a", "\\\"",
        ]
        for _ in 0..<4_000 {
            let junk = (0..<next(12)).map { _ in pieces[next(pieces.count)] }.joined()
            #expect(try client(["X-Forwarded-For: \(junk), 203.0.113.7, 10.0.0.2"]) == "203.0.113.7", "\(junk)")
            let hops = "for=203.0.113.7;host=\"a,\\\"b\", for=\"10.0.0.2:80\""
            #expect(try client(["Forwarded: \(junk), \(hops)"]) == "203.0.113.7", "\(junk)")
            #expect(try client(["Forwarded: \(junk)", "Forwarded: \(hops)"]) == "203.0.113.7", "\(junk)")
        }
    }

    @Test("where the two fields disagree neither is believed: a proxy that writes one hands on the other unread")
    func disagreeing() throws {
        #expect(try client(["Forwarded: for=198.51.100.1", "X-Forwarded-For: 203.0.113.7"]) == "10.0.0.1")
        #expect(try client(["Forwarded: nonsense", "X-Forwarded-For: 203.0.113.7"]) == "10.0.0.1")
    }
}
