import Glibc
import HTTPServer

/// How many connections the process takes, by the descriptors it may have, and what its surroundings leave it of memory.
struct Capacity: Equatable {
    let descriptors: Int
    let connectionsMax: Int
    /// Bytes that the control group allows, where it sets a limit.
    let memoryMax: Int?

    init(descriptors: Int, memoryMax: Int?) {
        self.descriptors = descriptors
        self.memoryMax = memoryMax
        connectionsMax = max(
            Limits.connectionsMin,
            min(HTTPServerConfiguration.usualConnectionsMax, descriptors - Limits.descriptorsReserved))
    }

    var isShortOfDescriptors: Bool { descriptors < Limits.descriptorsWanted }

    /// Of this process, whose soft limit of descriptors is raised as far as it is of use and allowed.
    static func ofProcess() -> Capacity {
        let wanted = rlim_t(HTTPServerConfiguration.usualConnectionsMax + Limits.descriptorsReserved)
        let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        getrlimit(kind, &limit)
        if limit.rlim_cur < wanted, limit.rlim_cur < limit.rlim_max {
            var raised = limit
            raised.rlim_cur = min(wanted, limit.rlim_max)
            if setrlimit(kind, &raised) == 0 { limit = raised }
        }
        return Capacity(descriptors: Int(clamping: limit.rlim_cur), memoryMax: controlGroupMemoryMax())
    }

    /// Version 2 of control groups, then version 1, as a container sees its own.
    private static func controlGroupMemoryMax() -> Int? {
        let files = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        for file in files {
            guard let text = ProcessEnvironment.file(file) else { continue }
            // "max" is no number; version 1 says "no limit" by one beyond any machine.
            return Int(text.prefix { $0.isNumber }).flatMap { $0 < 1 << 50 ? $0 : nil }
        }
        return nil
    }
}
