import AuthTesting
import Foundation
import JOSE
import EmbeddedPostgres

/// What is done to the servers, and by clients that mean no good. Each returns how often it has struck.
extension FaultWorld {
    /// Kills each in turn while it works, and starts it anew on its port a second later.
    func killServers(_ indices: [Int] = [0, 1], pause: Double) throws -> Int {
        var strikes = 0
        for index in indices {
            let victim = take(index)
            victim?.kill()
            relays[index].mode = .refuse
            if victim?.process.status == 128 + SIGKILL { strikes += 1 }
            rest(1)
            try start(index)
            relays[index].mode = .pass
            rest(pause)
        }
        return strikes
    }

    /// Restarts each in turn as a balancer sees it: nothing is sent to one that drains or is not ready.
    func rollServers(pause: Double) throws -> Int {
        var strikes = 0
        for index in 0..<2 {
            if try rollServer(index) { strikes += 1 }
            rest(pause)
        }
        return strikes == 2 ? 2 : 0
    }

    /// Returns whether it had ended by itself.
    func rollServer(_ index: Int) throws -> Bool {
        relays[index].target = ports[1 - index]
        let status = try take(index)?.stop()
        try start(index)
        relays[index].target = ports[index]
        return status == 0
    }

    /// Publishes a key by command, and lets it sign once the resource server has fetched it. Nothing may be noticed.
    func rotateKeys(lead: Double) throws -> Int {
        func published() throws -> [[String]] {
            try ports.map { try JWKSet.parse(HTTPClient(port: $0).send("GET", "/.well-known/jwks.json").body).kids }
        }
        let before = try published()
        let rotate = try site.run(["keys", "rotate"])
        rest(lead)
        let both = try published()
        let promote = try site.run(["keys", "promote", "--emergency"])
        rest(1.5)
        let after = try published()
        guard rotate.status == 0, promote.status == 0, both.allSatisfy({ $0 == both[0] && $0.count == 2 }) else {
            return 0
        }
        return zip(before, after).filter { $0.first != $1.first && $1 == both[0].reversed() }.count
    }

    func pauseServer(for seconds: Double) throws -> Int {
        let start = surroundings.now
        let process = try process(0)
        Foundation.kill(process, SIGSTOP)
        rest(seconds)
        Foundation.kill(process, SIGCONT)
        rest(0.5)
        return slowAnswers(since: start, beyond: seconds / 4)
    }

    /// As many descriptors as are open and eight more, and a hundred connections that want one.
    func limitDescriptors(for seconds: Double) throws -> Int {
        let process = try process(1)
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").count
        try setLimit(open + 8, of: process)
        let idle = (0..<100).compactMap { _ in Loopback.connect(to: ports[1]) }
        rest(seconds)
        try setLimit(4_096, of: process)
        // More connections than descriptors: those that could not be accepted were closed by the server.
        var shed = 0
        for descriptor in idle {
            var byte: UInt8 = 0
            if recv(descriptor, &byte, 1, Int32(MSG_DONTWAIT)) == 0 { shed += 1 }
            Foundation.close(descriptor)
        }
        return shed
    }

    private func setLimit(_ count: Int, of process: Int32) throws {
        let outcome = try ChildProcess(["/usr/bin/prlimit", "--pid", "\(process)", "--nofile=\(count):4096"])
            .run(limit: .seconds(5))
        guard outcome.status == 0 else { throw Problem.programFailed("prlimit: \(outcome.errors)") }
    }

    /// Three hundred heads that come one byte at a time, and a hundred bodies.
    func sendSlowly(for seconds: Double) -> Int {
        let slow = (0..<400).compactMap { Loopback.connect(to: ports[$0 % 2]) }
        let head = Array("GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ".utf8)
        let body = Array(
            "POST /auth/token HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n".utf8)
        for descriptor in slow.suffix(100) { _ = Loopback.send(body[...], to: descriptor) }
        var sent = 0
        let end = surroundings.now + seconds
        while surroundings.now < end {
            for (index, descriptor) in slow.enumerated() {
                let byte = index < 300 && sent < head.count ? head[sent] : UInt8(ascii: "a")
                _ = Loopback.send([byte], to: descriptor)
            }
            sent += 1
            rest(0.25)
        }
        for descriptor in slow { Foundation.close(descriptor) }
        return slow.count
    }

    /// Rubbish as fast as six clients can send it.
    func flood(for seconds: Double) throws -> Int {
        let end = surroundings.now + seconds
        let counts = try HTTPClient.together(6) { index -> Int in
            var count = 0
            while self.surroundings.now < end {
                let answer = try? HTTPClient(port: self.ports[index % 2]).send(
                    "POST", "/auth/token", fields: [("Content-Type", "application/x-www-form-urlencoded")],
                    body: Array("grant_type=refresh_token&refresh_token=rubbish".utf8))
                if answer != nil { count += 1 }
            }
            return count
        }
        return counts.reduce(0, +)
    }
}
