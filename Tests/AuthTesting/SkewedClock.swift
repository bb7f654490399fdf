import EmbeddedPostgres
import Foundation
import Primitives

/// The wall clock of another process, which a test moves while the process runs. Time-outs are not touched.
///
/// A library that is loaded first answers for the machine's clock; nothing in the product knows of it.
package final class SkewedClock: Sendable {
    package enum Problem: Error {
        case noCompiler
        case notCompiled(String)
    }

    private let path: String
    private let library: String

    /// - Parameter offset: by how much it is ahead of the machine's, in whole seconds.
    package init(_ offset: Duration = .zero) throws {
        library = try Self.library.get()
        path = "/tmp/sallyport-clock-\(getpid())-\(UInt64.random(in: 0 ... .max))"
        set(offset)
    }

    deinit { unlink(path) }

    /// For the process that is to have it.
    package var environment: [String: String?] { ["LD_PRELOAD": library, "SKEWED_CLOCK": path] }

    package func set(_ offset: Duration) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
        defer { close(descriptor) }
        withUnsafeBytes(of: offset.wholeSeconds) { _ = pwrite(descriptor, $0.baseAddress, $0.count, 0) }
    }

    /// Compiled once a test process.
    private static let library = Result { () throws in
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin").split(separator: ":").map(String.init)
        let candidates = folders.flatMap { ["\($0)/clang", "\($0)/cc"] }
        guard let compiler = candidates.first(where: FileManager.default.isExecutableFile) else {
            throw Problem.noCompiler
        }
        let path = "/tmp/sallyport-clock-\(getpid()).so"
        let outcome = try ChildProcess(
            [compiler, "-shared", "-fPIC", "-O1", "-x", "c", "-", "-o", path],
            environment: ["PATH=" + folders.joined(separator: ":")]
        ).run(input: source, limit: .seconds(60))
        guard outcome.status == 0 else { throw Problem.notCompiled(outcome.errors) }
        atexit { unlink("/tmp/sallyport-clock-\(getpid()).so") }
        return path
    }

    private static let source = """
        #define _GNU_SOURCE
        #include <fcntl.h>
        #include <stdint.h>
        #include <stdlib.h>
        #include <sys/mman.h>
        #include <sys/syscall.h>
        #include <time.h>
        #include <unistd.h>

        static volatile const int64_t *offset;

        __attribute__((constructor)) static void map_offset(void) {
            const char *path = getenv("SKEWED_CLOCK");
            int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
            if (file < 0) return;
            void *page = mmap(0, sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
            if (page != MAP_FAILED) offset = page;
            close(file);
        }

        int clock_gettime(clockid_t clock, struct timespec *now) {
            int result = syscall(SYS_clock_gettime, clock, now);
            if (result == 0 && clock == CLOCK_REALTIME && offset) now->tv_sec += *offset;
            return result;
        }

        time_t time(time_t *result) {
            struct timespec now;
            clock_gettime(CLOCK_REALTIME, &now);
            if (result) *result = now.tv_sec;
            return now.tv_sec;
        }

        """
}

extension ScratchDatabase {
    /// Moves the clock of this database as its sessions see it: what a failover to another host can do.
    package func moveClock(by offset: Duration) throws {
        try sql(
            """
            CREATE SCHEMA IF NOT EXISTS moved;
            CREATE OR REPLACE FUNCTION moved.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
                AS 'SELECT pg_catalog.clock_timestamp() + interval ''\(offset.wholeSeconds) seconds''';
            GRANT USAGE ON SCHEMA moved TO PUBLIC;
            ALTER DATABASE \(name) SET search_path = moved, pg_catalog, public;
            """)
    }

    /// Ends every session but this one: what a failover does to them.
    package func endSessions() throws {
        try sql(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() "
                + "AND pid <> pg_backend_pid()")
    }
}
