import Primitives

extension ConnectionTarget {
    /// The keywords of one attempt: what the URL says, completed by the configuration.
    ///
    /// - Parameter address: numeric, so that libpq looks nothing up; `nil` for a unix socket.
    func keywords(
        for host: Host, at address: String?, _ configuration: DatabaseConfiguration
    ) -> [(name: String, value: String)] {
        var all = keywords
        all["host"] = host.name.isEmpty ? nil : host.name
        all["hostaddr"] = address
        all["port"] = host.port
        all["client_encoding"] = "UTF8"

        var defaults = [
            "application_name": configuration.applicationName,
            // Kerberos would be looked up in files and over the network, in place.
            "gssencmode": "disable",
            "keepalives_idle": String(configuration.keepaliveIdle.wholeSeconds),
            "keepalives_interval": String(configuration.keepaliveInterval.wholeSeconds),
            "keepalives_count": String(configuration.keepaliveProbes),
            "tcp_user_timeout": String(configuration.acknowledgementTimeout.wholeMilliseconds),
        ]
        // A session that we make read-only would be refused as one that takes no writes. A replica may be behind: it is
        // read where the URL asks for one.
        if configuration.isReadOnly {
            if !allowsReplica { all["target_session_attrs"] = "primary" }
        } else {
            defaults["target_session_attrs"] = "read-write"
        }
        return all.merging(defaults) { own, _ in own }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// Whether the URL itself says that a server in recovery will do.
    var allowsReplica: Bool {
        switch keywords["target_session_attrs"] {
        case nil, "primary", "read-write": false
        default: true
        }
    }
}
