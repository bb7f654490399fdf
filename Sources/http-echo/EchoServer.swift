import Glibc
import HTTP
import HTTPServer
import Primitives
import Reactor
import TLS

/// The echo application on loopback, until a signal ends it.
enum EchoServer {
    private static let usage = "usage: http-echo --port N [--loops N] [--short-timeouts] [--tls CERTIFICATE KEY]"
    private static let bodyBytesMax = 1_048_576
    private static let shortDeadline = Duration.seconds(2)

    /// - Returns: the exit status: 1 when the port cannot be had, 2 when misused.
    static func run(arguments: [String]) -> Int32 {
        guard let options = Options(arguments), let address = SocketAddress("127.0.0.1:\(options.port)") else {
            complain(usage)
            return 2
        }
        let signals = [SIGTERM, SIGINT]
        Signals.block(signals)
        var configuration = HTTPServerConfiguration(
            address: address, limits: HTTPLimits(bodyBytesMax: bodyBytesMax), clock: SystemClock())
        if options.hasShortTimeouts {
            configuration.headerDeadline = shortDeadline
            configuration.bodyDeadline = shortDeadline
            configuration.idleDeadline = shortDeadline
        }
        do throws(CertificateError) {
            configuration.certificates = try options.files.map { files throws(CertificateError) in
                try TLSCertificates(certificateFile: files.certificate, keyFile: files.key)
            }
        } catch {
            complain("\(error)")
            return 1
        }
        do throws(ReactorError) {
            let loops = try startedLoops(options.loops)
            let server = HTTPServer(loops: loops, application: EchoApplication(), configuration: configuration)
            loops[0].spawn { await start(server) }
            _ = Signals.next(of: signals)
            return 0
        } catch {
            complain("\(error)")
            return 1
        }
    }

    private static func startedLoops(_ count: Int) throws(ReactorError) -> [EventLoop] {
        var loops: [EventLoop] = []
        for index in 0..<count {
            let loop = try EventLoop(name: "loop-\(index)")
            loop.start()
            loops.append(loop)
        }
        return loops
    }

    private static func start(_ server: HTTPServer) async {
        do throws(ReactorError) {
            write("listening on \(try await server.start())\n", to: STDOUT_FILENO)
        } catch {
            complain("\(error)")
            exit(1)
        }
    }

    private static func complain(_ line: String) {
        write(line + "\n", to: STDERR_FILENO)
    }

    private static func write(_ text: String, to descriptor: Int32) {
        _ = Array(text.utf8).withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }
}

/// What the command line says.
private struct Options {
    var port: UInt16 = 0
    var loops = 2
    var hasShortTimeouts = false
    var files: (certificate: String, key: String)?

    /// `nil` when an argument is not known or its value is missing.
    init?(_ arguments: [String]) {
        var rest = arguments[...]
        var hasPort = false
        while let name = rest.popFirst() {
            switch name {
            case "--port":
                guard let port = rest.popFirst().flatMap({ UInt16($0) }) else { return nil }
                self.port = port
                hasPort = true
            case "--loops":
                guard let loops = rest.popFirst().flatMap({ Int($0) }), (1...64).contains(loops) else { return nil }
                self.loops = loops
            case "--short-timeouts":
                hasShortTimeouts = true
            case "--tls":
                guard let certificate = rest.popFirst(), let key = rest.popFirst() else { return nil }
                files = (certificate, key)
            default:
                return nil
            }
        }
        guard hasPort else { return nil }
    }
}

/// For `Date` alone.
private struct SystemClock: WallClock {
    func now() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(secondsSinceEpoch: Int64(time.tv_sec))
    }
}
