import Glibc

/// The account that the server runs as: ours, or another one when we are root, which PostgreSQL refuses.
struct EmbeddedPostgresAccount: Sendable {
    let userID: uid_t
    let groupID: gid_t
    /// What stands before a command line so that it runs under this account.
    let prefix: [String]
    /// The same for a program that must end when the thread that started it ends.
    let dyingPrefix: [String]

    /// - Throws: `.noAccount`
    static func current() throws(EmbeddedPostgresError) -> EmbeddedPostgresAccount {
        let setpriv = EmbeddedPostgresBinaries.inSearchPath("setpriv")
        guard geteuid() == 0 else {
            return EmbeddedPostgresAccount(
                userID: geteuid(), groupID: getegid(), prefix: [],
                dyingPrefix: setpriv.map { [$0, deathSignal, "--"] } ?? [])
        }
        guard let entry = getpwnam("postgres") ?? getpwnam("nobody") else {
            throw .noAccount(reason: "there is no user postgres")
        }
        let (user, group) = (entry.pointee.pw_uid, entry.pointee.pw_gid)
        if let setpriv {
            let change = [setpriv, "--reuid=\(user)", "--regid=\(group)", "--clear-groups"]
            return EmbeddedPostgresAccount(
                userID: user, groupID: group, prefix: change + ["--"], dyingPrefix: change + [deathSignal, "--"])
        }
        guard let runuser = EmbeddedPostgresBinaries.inSearchPath("runuser") else {
            throw .noAccount(reason: "neither setpriv nor runuser was found (Debian package util-linux)")
        }
        let change = [runuser, "-u", String(cString: entry.pointee.pw_name), "--"]
        return EmbeddedPostgresAccount(userID: user, groupID: group, prefix: change, dyingPrefix: change)
    }

    /// SIGINT is PostgreSQL's fast shutdown; SIGTERM would wait for clients that are gone with us.
    private static let deathSignal = "--pdeathsig=INT"

    /// Whether this account can pass through every folder of the path, as the permission bits say.
    func canEnter(_ path: String) -> Bool {
        var folder = ""
        for part in [""] + path.split(separator: "/").map(String.init) {
            folder += part.isEmpty ? "/" : "\(part)/"
            var status = stat()
            guard stat(folder, &status) == 0 else { return false }
            let bit = status.st_uid == userID ? S_IXUSR : status.st_gid == groupID ? S_IXGRP : S_IXOTH
            if status.st_mode & bit == 0 { return false }
        }
        return true
    }
}
