import AuthTesting
import Foundation
import Primitives
import Testing

/// A real nginx on a free port of 127.0.0.1 with the configuration of `Examples/nginx.conf`, ended with the last reference.
///
/// What is exchanged in it: the addresses, and TLS for plain HTTP, which is nothing that the tests are about.
final class Nginx: Sendable {
    static let program = "/usr/sbin/nginx"
    static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: program) }

    let port: UInt16
    private let folder: String
    private let process: SallyportProcess

    /// - Parameters:
    ///   - upstreams: ports of the two servers, in the order that they are asked in.
    ///   - appends: whether it stands behind another proxy.
    init(upstreams: [UInt16], appends: Bool = false) throws {
        port = try freePort()
        folder = try Self.makeFolder()
        var site = try Self.example().replacing("/var/cache/nginx/", with: folder + "/")
        for (port, place) in zip(upstreams, ["8081", "8082"]) {
            site = site.replacing("127.0.0.1:\(place)", with: "127.0.0.1:\(port)")
        }
        if appends {
            site = site.replacing("X-Forwarded-For $remote_addr", with: "X-Forwarded-For $proxy_add_x_forwarded_for")
        }
        site = site.replacing("listen 443 ssl;", with: "listen 127.0.0.1:\(port);")
        site = site.split(separator: "\n").filter { !$0.contains(" ssl_") }.joined(separator: "\n")
        process = try SallyportProcess(
            ["-p", folder, "-e", "stderr", "-c", try Self.write(site, in: folder)], environment: [:],
            program: Self.program)
        let client = HTTPClient(port: port)
        // No request: the first one is the test's.
        let isUp = waitUntil(limit: .seconds(20)) { (try? client.connect()) != nil }
        try #require(isUp, "\(process.errorText)")
    }

    deinit {
        process.kill()
        try? FileManager.default.removeItem(atPath: folder)
    }

    func client(source: UInt8) -> HTTPClient { HTTPClient(port: port, source: source) }

    var errorText: String { process.errorText }

    /// `nginx -t` of the example as it stands, but for the files that it names.
    static func check(certificate: String, key: String) throws -> SallyportProcess {
        let folder = try makeFolder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let site = try example().replacing("/var/cache/nginx/", with: folder + "/")
            .replacing("/etc/ssl/auth.example.com/fullchain.pem", with: certificate)
            .replacing("/etc/ssl/auth.example.com/privkey.pem", with: key)
            .replacing("listen 443", with: "listen 127.0.0.1:\(freePort())")
        let process = try SallyportProcess(
            ["-t", "-p", folder, "-e", "stderr", "-c", try write(site, in: folder)], environment: [:], program: program)
        try process.wait()
        return process
    }

    private static func example() throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: "Examples/nginx.conf"), encoding: .utf8)
    }

    private static func makeFolder() throws -> String {
        let folder = NSTemporaryDirectory() + "sallyport-nginx-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        return folder
    }

    /// One process that stays in the foreground and writes below its folder alone.
    private static func write(_ site: String, in folder: String) throws -> String {
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map { "\($0)_temp_path \(folder)/\($0);" }.joined(separator: "\n")
        let text = """
            daemon off;
            master_process off;
            pid \(folder)/pid;
            events {}
            http {
            access_log off;
            \(temporary)
            \(site)
            }

            """
        let path = folder + "/nginx.conf"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }
}

/// A port of 127.0.0.1 that nobody listens on at this moment.
func freePort() throws -> UInt16 {
    let listener = try LoopbackListener()
    return listener.port
}

/// A listening socket on a free port.
final class LoopbackListener: Sendable {
    let descriptor: Int32
    let port: UInt16

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && listen(descriptor, 16) == 0
                    && getsockname(descriptor, $0, &size) == 0
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        try #require(isBound)
    }

    deinit { close(descriptor) }
}

/// Hands one request after the other to a server, takes the whole answer, and closes without a byte of it: to whoever
/// sent the request the answer is lost, and the server knows nothing of it.
final class AnswerLosingRelay: Sendable {
    private let listener: LoopbackListener
    private let lost = Locked<[HTTPAnswer]>([])

    var port: UInt16 { listener.port }
    /// What the server answered and nobody got.
    var answers: [HTTPAnswer] { lost.withLock { $0 } }

    init(to port: UInt16) throws {
        listener = try LoopbackListener()
        let (listener, lost) = (listener, lost)
        let thread = Thread {
            while true {
                let descriptor = accept(listener.descriptor, nil, nil)
                guard descriptor >= 0 else { return }
                if let request = Self.request(from: descriptor), let connection = try? HTTPClientConnection(port: port),
                    (try? connection.send(bytes: request)) != nil, let answer = try? connection.answer()
                {
                    lost.withLock { $0.append(answer) }
                }
                close(descriptor)
            }
        }
        thread.start()
    }

    /// Up to the end of the content that `Content-Length` says.
    private static func request(from descriptor: Int32) -> [UInt8]? {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let text = String(decoding: bytes, as: UTF8.self)
            if let end = text.range(of: "\r\n\r\n") {
                let length = text.range(of: "content-length: ", options: .caseInsensitive).flatMap { range in
                    Int(text[range.upperBound...].prefix { $0.isNumber })
                }
                if text[end.upperBound...].utf8.count >= length ?? 0 { return bytes }
            }
            let count = recv(descriptor, &chunk, chunk.count, 0)
            guard count > 0 else { return nil }
            bytes += chunk[..<count]
        }
    }
}
