import Glibc

/// Another program, run without a shell. Blocking: for main threads and tests, never for an event loop.
package struct ChildProcess: Sendable {
    /// The program's path, then its arguments.
    private let arguments: [String]
    /// `NAME=value`; nothing is inherited.
    private let environment: [String]
    private let name: String

    /// - Parameter directory: where the program starts; nil is our own working directory.
    package init(_ arguments: [String], environment: [String] = [], directory: String? = nil) {
        // Glibc hides posix_spawn's own change of folder from Swift; env replaces itself, so the process stays the same.
        self.arguments = (directory.map { ["/usr/bin/env", "-C", $0] } ?? []) + arguments
        name = String(arguments[0].split(separator: "/").last ?? "program")
        self.environment = environment
    }

    /// What a finished run left behind.
    package struct Outcome: Sendable {
        /// The exit status, or 128 plus the number of the signal that ended it.
        package let status: Int32
        package let output: String
        package let errors: String
    }

    /// Runs to the end; kills the program when `limit` is over.
    ///
    /// Input and outputs are unlinked files and not pipes: nothing has to be drained meanwhile, and a sibling that
    /// inherits a descriptor cannot hold back an end-of-file.
    package func run(input: String = "", limit: Duration) throws(EmbeddedPostgresError) -> Outcome {
        let files = try [scratchFile(), scratchFile(), scratchFile()]
        defer { for file in files { close(file) } }
        guard writeAll(Array(input.utf8), to: files[0]), lseek(files[0], 0, SEEK_SET) == 0 else {
            throw failure("its input cannot be written", errno)
        }
        let child = try spawn(standardInput: files[0], standardOutput: files[1], standardError: files[2])
        guard let status = Self.wait(for: child, limit: limit) else {
            kill(child, SIGKILL)
            _ = Self.wait(for: child)
            throw .programFailed(name: name, reason: "not finished after \(limit)")
        }
        return Outcome(status: status, output: text(of: files[1]), errors: text(of: files[2]))
    }

    /// Starts the program in a process group of its own, so that a terminal's Ctrl-C reaches it only through us.
    ///
    /// The caller owns the process and must wait for it.
    func spawn(
        standardInput: Int32, standardOutput: Int32, standardError: Int32
    ) throws(EmbeddedPostgresError) -> pid_t {
        // SAFETY: the C strings live until posix_spawn has returned; the kernel has copied them by then.
        var argv: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        var envp: [UnsafeMutablePointer<CChar>?] = environment.map { strdup($0) } + [nil]
        defer { for pointer in argv + envp { free(pointer) } }

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, standardInput, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, standardOutput, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, standardError, STDERR_FILENO)

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        var all = sigset_t()
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))

        var child: pid_t = 0
        let code = posix_spawn(&child, arguments[0], &actions, &attributes, &argv, &envp)
        guard code == 0 else { throw failure("it cannot be started", code) }
        return child
    }

    /// Waits without a limit.
    static func wait(for child: pid_t) -> Int32 {
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        return exitStatus(status)
    }

    /// The exit status, or nil when the limit is over and the program still runs.
    private static func wait(for child: pid_t, limit: Duration) -> Int32? {
        var status: Int32 = 0
        let ended = waitUntil(limit: limit) { waitpid(child, &status, WNOHANG) == child }
        return ended ? exitStatus(status) : nil
    }

    /// `<sys/wait.h>` decodes by macros, which Swift does not see: the low seven bits are the signal.
    private static func exitStatus(_ status: Int32) -> Int32 {
        let signal = status & 0x7f
        return signal == 0 ? (status >> 8) & 0xff : 128 + signal
    }

    private func failure(_ what: String, _ code: Int32) -> EmbeddedPostgresError {
        .programFailed(name: name, reason: "\(what): \(String(cString: strerror(code)))")
    }

    private func scratchFile() throws(EmbeddedPostgresError) -> Int32 {
        let path = "/tmp/sallyport-\(getpid())-\(UInt64.random(in: 0 ... .max))"
        let file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure("no scratch file below /tmp", errno) }
        unlink(path)
        return file
    }

    private func text(of file: Int32) -> String {
        lseek(file, 0, SEEK_SET)
        return String(decoding: readAll(file), as: UTF8.self)
    }
}

/// Looks at a condition every few milliseconds until it holds or the limit is over.
func waitUntil(limit: Duration, _ condition: () -> Bool) -> Bool {
    let end = ContinuousClock.now + limit
    while !condition() {
        if ContinuousClock.now >= end { return false }
        usleep(3_000)
    }
    return true
}

func readAll(_ file: Int32) -> [UInt8] {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
        let count = read(file, &chunk, chunk.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return bytes }
        bytes.append(contentsOf: chunk[..<count])
    }
}

func writeAll(_ bytes: [UInt8], to file: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
        let count = rest.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return false }
        rest = rest.dropFirst(count)
    }
    return true
}
