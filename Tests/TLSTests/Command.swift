import Foundation

/// A program of the machine, run to its end with an input; both outputs in one text.
struct Command {
    struct Outcome: Sendable {
        let status: Int32
        let output: String
    }

    let name: String
    let arguments: [String]
    var input = ""
    /// Input after which the program's stdin stays open for so long.
    var linger = Duration.zero

    init(_ name: String, _ arguments: [String], input: String = "", linger: Duration = .zero) {
        self.name = name
        self.arguments = arguments
        self.input = input
        self.linger = linger
    }

    /// Blocks its thread; ten seconds at most.
    func run() -> Outcome {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/timeout")
        process.arguments = ["10", name] + arguments
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = output
        do { try process.run() } catch { return Outcome(status: 127, output: "\(error)") }
        input.fileHandleForWriting.write(Data(self.input.utf8))
        if linger > .zero {
            Thread.sleep(forTimeInterval: Double(linger.components.seconds) + 0.2)
        }
        try? input.fileHandleForWriting.close()
        let text = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Outcome(status: process.terminationStatus, output: String(decoding: text, as: UTF8.self))
    }
}

/// Runs a blocking body on a thread of its own, so that no pool thread is held.
func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withUnsafeContinuation { continuation in
        Thread { continuation.resume(returning: body()) }.start()
    }
}
