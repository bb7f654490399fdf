import Foundation
import Primitives

/// The `sallyport` of this build as a child process, with both outputs kept. It ends with the test process at the latest.
package final class SallyportProcess: Sendable {
    package enum Problem: Error, CustomStringConvertible {
        case notBuilt(path: String)
        case notStarted(String)
        case stillRunning(output: String)

        package var description: String {
            switch self {
            case .notBuilt(let path): "\(path) is not there: swift build"
            case .notStarted(let reason): "the process did not start: \(reason)"
            case .stillRunning(let output): "the process has not ended in time; it said:\n\(output)"
            }
        }
    }

    private enum State {
        case starting
        case running(pid_t)
        case ended(Int32)
        case failed(String)
    }

    private let output: OutputFile
    private let errors: OutputFile
    private let state = Locked(State.starting)

    private let binary: String

    /// Starts it with exactly this environment and `PATH`.
    ///
    /// - Parameter program: the path of another one than this build's.
    package init(_ arguments: [String], environment: [String: String], program: String? = nil) throws {
        let binary = program ?? Self.binary
        self.binary = binary
        output = try OutputFile()
        errors = try OutputFile()
        guard FileManager.default.isExecutableFile(atPath: binary) else {
            throw Problem.notBuilt(path: binary)
        }
        // The kernel sends the parent-death signal when the thread that started the child ends: one thread starts it,
        // and waits for it as long as it lives.
        let thread = Thread { self.live(arguments, environment) }
        thread.start()
        while case .starting = state.withLock({ $0 }) { usleep(500) }
        if case .failed(let reason) = state.withLock({ $0 }) { throw Problem.notStarted(reason) }
    }

    /// The built program: beside the test bundle, else in the package's own build folder.
    private static let binary: String = {
        let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") }
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let folder =
            bundle.map { URL(filePath: $0).deletingLastPathComponent() } ?? root.appending(path: ".build/debug")
        return folder.appending(path: "sallyport").path
    }()

    private func live(_ arguments: [String], _ environment: [String: String]) {
        let process = Process()
        let setpriv = "/usr/bin/setpriv"
        let canDieWithUs = FileManager.default.isExecutableFile(atPath: setpriv)
        process.executableURL = URL(filePath: canDieWithUs ? setpriv : binary)
        process.arguments = (canDieWithUs ? ["--pdeathsig=KILL", "--", binary] : []) + arguments
        process.environment = environment.merging(["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"]) { own, _ in own }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output.handle
        process.standardError = errors.handle
        do {
            try process.run()
        } catch {
            state.withLock { $0 = .failed("\(error)") }
            return
        }
        state.withLock { $0 = .running(process.processIdentifier) }
        process.waitUntilExit()
        let signalBase: Int32 = process.terminationReason == .uncaughtSignal ? 128 : 0
        state.withLock { $0 = .ended(signalBase + process.terminationStatus) }
    }

    package var processID: Int32? {
        if case .running(let processID) = state.withLock({ $0 }) { processID } else { nil }
    }

    package var isRunning: Bool { processID != nil }

    /// The exit status, or 128 plus the number of the signal that ended it; `nil` while it runs.
    package var status: Int32? {
        if case .ended(let status) = state.withLock({ $0 }) { status } else { nil }
    }

    package var outputText: String { output.text }
    package var errorText: String { errors.text }
    package var outputLines: [String] { Self.lines(output.text) }
    package var errorLines: [String] { Self.lines(errors.text) }

    package func send(_ signal: Int32) {
        if let processID { Foundation.kill(processID, signal) }
    }

    /// SIGTERM.
    package func terminate() { send(SIGTERM) }

    /// SIGKILL, and waits for the end.
    package func kill() {
        send(SIGKILL)
        _ = try? wait()
    }

    /// - Throws: `Problem.stillRunning` once the limit is over; the process is killed then.
    @discardableResult
    package func wait(limit: Duration = .seconds(15)) throws -> Int32 {
        guard waitUntil(limit: limit, { status != nil }), let status else {
            send(SIGKILL)
            throw Problem.stillRunning(output: errorText + outputText)
        }
        return status
    }

    private static func lines(_ text: String) -> [String] { text.split(separator: "\n").map(String.init) }
}

/// An unlinked file that a child writes to: nothing has to be drained while it does.
private final class OutputFile: Sendable {
    private let descriptor: Int32

    init() throws {
        let path = "/tmp/sallyport-output-\(getpid())-\(UInt64.random(in: 0 ... .max))"
        descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SallyportProcess.Problem.notStarted("no file for its output") }
        unlink(path)
    }

    deinit { close(descriptor) }

    var handle: FileHandle { FileHandle(fileDescriptor: descriptor, closeOnDealloc: false) }

    var text: String {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = pread(descriptor, &chunk, chunk.count, off_t(bytes.count))
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += chunk[..<count]
        }
    }
}

/// Looks at a condition every few milliseconds until it holds or the limit is over. Blocks its thread.
///
/// - Returns: whether it held.
@discardableResult
package func waitUntil(limit: Duration, _ condition: () throws -> Bool) rethrows -> Bool {
    let end = ContinuousClock.now + limit
    while try !condition() {
        if ContinuousClock.now >= end { return false }
        usleep(2_000)
    }
    return true
}
