/// Bounds of the private cluster.
enum EmbeddedPostgresLimits {
    /// From the start of the server until it accepts connections; recovery after a crash is part of it.
    static let start: Duration = .seconds(30)
    /// A running server that does not say `stopping` within this time belongs to somebody.
    static let stoppingNotice: Duration = .seconds(1)
    /// A fast shutdown writes a checkpoint; after this the next harder signal follows.
    static let stop: Duration = .seconds(15)
    /// initdb takes about a second; slow disks take many.
    static let initialize: Duration = .seconds(120)
    /// One script through psql.
    static let statements: Duration = .seconds(120)
    /// Below the kernel's ephemeral range: while the server is stopped no client's own end may sit on its port.
    static let ports: Range<UInt16> = 15_000..<32_000
    static let portProbes = 200
    /// Somebody may take a free port between the probe and the server's own bind; the workers of a killed server take
    /// a moment to leave its shared memory.
    static let startAttempts = 3
    static let attemptPauseMicroseconds: UInt32 = 300_000
}
