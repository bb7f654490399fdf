import Foundation

/// The `http-echo` of this build as a child process with a limit of descriptors, ended with its last reference.
final class EchoProcess {
    let port: UInt16
    private let process = Process()

    /// `nil` when it does not say where it listens.
    init?(descriptorsMax: Int) {
        let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") }
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let folder =
            bundle.map { URL(filePath: $0).deletingLastPathComponent() } ?? root.appending(path: ".build/debug")
        let output = Pipe()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = [
            "-c", "ulimit -n \(descriptorsMax); exec \"$0\" --port 0 --loops 1",
            folder.appending(path: "http-echo").path,
        ]
        process.standardOutput = output
        do { try process.run() } catch { return nil }
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        guard let port = line.split(separator: ":").last.flatMap({ UInt16($0.prefix { $0.isNumber }) }) else {
            process.terminate()
            return nil
        }
        self.port = port
    }

    deinit {
        process.terminate()
        process.waitUntilExit()
    }

    /// User and system time so far, in ticks of 10 ms.
    var cpuTicks: Int? {
        let stat = try? String(contentsOfFile: "/proc/\(process.processIdentifier)/stat", encoding: .utf8)
        let fields = stat?.split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 12, let user = Int(fields[11]), let system = Int(fields[12]) else { return nil }
        return user + system
    }

    /// Memory in use that is backed by nothing but RAM.
    var residentBytes: Int? {
        let status = try? String(contentsOfFile: "/proc/\(process.processIdentifier)/status", encoding: .utf8)
        let line = status?.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
        return line.flatMap { Int($0.filter(\.isNumber)) }.map { $0 * 1_024 }
    }
}
