package import JSON
import Primitives

/// A `sallyport serve` of this build on a free port of 127.0.0.1, killed with the last reference to it.
package final class ServerUnderTest: Sendable {
    package enum Problem: Error, CustomStringConvertible {
        case notReady(status: Int32?, said: String)

        package var description: String {
            switch self {
            case .notReady(let status, let said):
                "the server is not ready" + (status.map { " and ended with \($0)" } ?? "") + "; it said:\n\(said)"
            }
        }
    }

    package let process: SallyportProcess
    private let found = Locked<UInt16?>(nil)
    /// What it serves from lives as long as it does.
    private let database: ScratchDatabase

    /// Starts it; does not wait until it is ready.
    init(
        _ arguments: [String], environment: [String: String], database: ScratchDatabase, program: String?
    ) throws {
        self.database = database
        process = try SallyportProcess(["serve"] + arguments, environment: environment, program: program)
    }

    deinit { process.send(9) }

    /// Returns once the ready line is there.
    @discardableResult
    package func waitUntilReady(limit: Duration = .seconds(40)) throws -> ServerUnderTest {
        waitUntil(limit: limit) { readyLine != nil || !process.isRunning }
        guard readyLine != nil else {
            throw Problem.notReady(status: process.status, said: process.errorText + process.outputText)
        }
        return self
    }

    /// The line on stdout, of a server that is ready.
    package var readyLine: JSONObject? {
        for line in process.outputLines {
            guard let object = (try? JSONParser.parse(Array(line.utf8)))?.objectValue else { continue }
            if object["event"] == "ready" { return object }
        }
        return nil
    }

    /// Where it listens, for a client.
    package var client: HTTPClient {
        get throws {
            if let port = found.withLock({ $0 }) { return HTTPClient(port: port) }
            guard let address = readyLine?["address"]?.stringValue,
                let port = address.split(separator: ":").last.flatMap({ UInt16($0) })
            else { throw Problem.notReady(status: process.status, said: process.errorText) }
            found.withLock { $0 = port }
            return HTTPClient(port: port)
        }
    }

    /// What it has written to both outputs so far.
    package var log: String { process.outputText + process.errorText }

    /// SIGTERM, and waits for the end.
    @discardableResult
    package func stop() throws -> Int32 {
        process.terminate()
        return try process.wait()
    }

    /// SIGKILL, and waits for the end.
    package func kill() { process.kill() }
}
