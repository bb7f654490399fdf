import Glibc

/// The process as commands see it: arguments, variables, files and the two streams.
package struct ProcessEnvironment: Sendable {
    package let arguments: [String]
    package let variables: [String: String]

    package static func ofThisProcess() -> ProcessEnvironment {
        var variables: [String: String] = [:]
        var next = environ
        while let entry = next.pointee {
            let text = String(cString: entry)
            if let equals = text.firstIndex(of: "=") {
                variables[String(text[..<equals])] = String(text[text.index(after: equals)...])
            }
            next += 1
        }
        return ProcessEnvironment(arguments: Array(CommandLine.arguments.dropFirst()), variables: variables)
    }

    package init(arguments: [String], variables: [String: String]) {
        self.arguments = arguments
        self.variables = variables
    }

    /// A line on stdout.
    func say(_ line: String) { Self.write(line + "\n", to: STDOUT_FILENO) }

    /// A line on stderr.
    func complain(_ line: String) { Self.write(line + "\n", to: STDERR_FILENO) }

    func end(_ status: Int32) -> Never { exit(status) }

    /// The text of a file, `nil` when it cannot be read, is too large or is not UTF-8.
    static func file(_ path: String) -> String? { bytes(path).flatMap { String(validating: $0, as: UTF8.self) } }

    /// `nil` when the file cannot be read or is larger than a file of settings may be.
    static func bytes(_ path: String) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return bytes(of: descriptor)
    }

    private static func bytes(of descriptor: Int32) -> [UInt8]? {
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while content.count <= Limits.settingsFileBytesMax {
            let count = read(descriptor, &buffer, buffer.count)
            if count == 0 { return content }
            guard count > 0 else { return nil }
            content += buffer[..<count]
        }
        return nil
    }

    /// What stands on stdin, `nil` when it cannot be read, is too large or is not UTF-8.
    static func input() -> String? { bytes(of: STDIN_FILENO).flatMap { String(validating: $0, as: UTF8.self) } }

    private static func write(_ text: String, to descriptor: Int32) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}
