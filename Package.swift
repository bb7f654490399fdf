// swift-tools-version: 6.2
import PackageDescription

/// For libFuzzer every branch is marked, which a plain build has no use for: scripts/fuzz asks for it.
let isFuzzing = Context.environment["SALLYPORT_FUZZ"] == "1"
let fuzzing: [SwiftSetting] = isFuzzing ? [.unsafeFlags(["-sanitize=fuzzer"])] : []

/// Held by every target: Swift 6 mode, and warnings are errors.
let house: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
    .unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release)),
]

/// Held by the product's targets: one search of a text in a text would bring the engine of regular expressions along,
/// a seventh of the binary.
let product = house + [.unsafeFlags(["-Xfrontend", "-disable-implicit-string-processing-module-import"])] + fuzzing

func module(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: product)
}

/// Fixtures are read from the folder of their test, so they are no resources of the bundle.
func tests(of name: String, _ more: [Target.Dependency] = [], hasFixtures: Bool = false) -> Target {
    .testTarget(
        name: name + "Tests",
        dependencies: [.init(stringLiteral: name)] + more,
        exclude: hasFixtures ? ["Fixtures"] : [],
        swiftSettings: house
    )
}

// The graph is the table of Sources/README.md; RepositoryTests compares the two.
let package = Package(
    name: "sallyport",
    products: [.executable(name: "sallyport", targets: ["sallyport"])],
    targets: [
        .target(name: "CLinux"),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CYaml", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),

        module("Primitives", []),
        module("JSON", ["Primitives"]),
        module("Telemetry", ["Primitives", "JSON"]),
        module("Crypto", ["COpenSSL", "Primitives"]),
        module("JOSE", ["Crypto", "JSON", "Primitives"]),
        module("HTTP", ["Primitives"]),
        module("Reactor", ["CLinux", "Telemetry", "Primitives"]),
        module("TLS", ["COpenSSL", "Reactor", "Primitives"]),
        module("HTTPServer", ["HTTP", "Reactor", "TLS", "Telemetry", "Primitives"]),
        module("Postgres", ["CLibPQ", "Reactor", "Telemetry", "Crypto", "Primitives"]),
        module("AuthDomain", ["JOSE", "Crypto", "JSON", "Primitives"]),
        .target(
            name: "AuthStore",
            dependencies: [
                "AuthDomain", "Postgres", "Reactor", "JOSE", "Crypto", "Telemetry", "Primitives",
            ],
            // `migrations` is a link to the folder at the top; Migrations.swift lists the same files.
            resources: [
                .embedInCode("migrations/0001_create_keys.sql"),
                .embedInCode("migrations/0002_create_devices.sql"),
                .embedInCode("migrations/0003_create_device_sessions.sql"),
                .embedInCode("migrations/0004_create_custom_claims.sql"),
                .embedInCode("migrations/0005_create_identity_watch.sql"),
                .embedInCode("migrations/0006_create_revocation_functions.sql"),
                .embedInCode("migrations/0007_remember_verification.sql"),
                .embedInCode("migrations/0008_extend_keys.sql"),
                .embedInCode("migrations/0009_create_revoked_access_tokens.sql"),
                .embedInCode("migrations/0010_create_revocation_feed.sql"),
                .embedInCode("migrations/0011_relax_session_keys.sql"),
                .embedInCode("migrations/0012_create_user_marks.sql"),
                .embedInCode("migrations/0013_create_clocks.sql"),
                .embedInCode("migrations/0014_index_live_sessions.sql"),
                .embedInCode("migrations/0015_bound_devices.sql"),
                .embedInCode("migrations/0016_drop_ended_indexes.sql"),
                .embedInCode("migrations/0017_sample_linked_users.sql"),
                .embedInCode("migrations/standalone/0001_create_identity_tables.sql"),
            ],
            swiftSettings: product
        ),
        module("Signing", ["AuthDomain", "Crypto", "Reactor", "Telemetry", "Primitives"]),
        module("Outbound", ["CCurl", "Reactor", "Primitives"]),
        module("AuthAPI", ["AuthDomain", "HTTP", "JOSE", "Crypto", "JSON", "Telemetry", "Primitives"]),
        module("EmbeddedPostgres", ["Primitives"]),
        module("Doctor", ["CYaml", "Outbound", "JOSE", "JSON", "Primitives"]),
        .target(
            name: "SallyportServer",
            dependencies: [
                "Doctor", "EmbeddedPostgres", "AuthAPI", "AuthStore", "Signing", "Outbound", "AuthDomain", "HTTPServer",
                "HTTP", "TLS", "Postgres",
                "Reactor", "JOSE", "Crypto", "JSON", "Telemetry", "Primitives",
            ],
            swiftSettings: product
        ),
        .executableTarget(
            name: "sallyport",
            dependencies: ["SallyportServer"],
            swiftSettings: product,
            linkerSettings: [.unsafeFlags(["-static-stdlib"], .when(configuration: .release))]
        ),
        .executableTarget(
            name: "http-echo",
            dependencies: ["HTTPServer", "HTTP", "TLS", "Reactor", "JSON", "Primitives"],
            swiftSettings: product,
            linkerSettings: [.unsafeFlags(["-static-stdlib"], .when(configuration: .release))]
        ),

        .target(
            name: "AuthTesting",
            dependencies: [
                "EmbeddedPostgres", "AuthDomain", "AuthStore", "Postgres", "Reactor", "JOSE", "Crypto", "JSON",
                "Telemetry", "Primitives",
            ],
            path: "Tests/AuthTesting",
            swiftSettings: house
        ),
        .target(
            name: "FaultRun",
            dependencies: ["AuthTesting", "EmbeddedPostgres", "JOSE", "Crypto", "JSON", "Primitives"],
            path: "Tests/FaultRun",
            swiftSettings: house
        ),
        .executableTarget(
            name: "sallyport-faults",
            dependencies: ["FaultRun"],
            path: "Tests/sallyport-faults",
            swiftSettings: house
        ),
        tests(of: "FaultRun", ["AuthTesting", "Primitives"], hasFixtures: true),
        tests(of: "Primitives"),
        tests(of: "JSON", ["Primitives"]),
        tests(of: "Telemetry", ["JSON", "Primitives"]),
        tests(of: "Crypto", ["JSON", "Primitives"], hasFixtures: true),
        tests(of: "JOSE", ["Crypto", "JSON", "Primitives"], hasFixtures: true),
        tests(of: "HTTP", ["Primitives"], hasFixtures: true),
        tests(of: "Reactor", ["Primitives"]),
        tests(of: "TLS", ["HTTPServer", "HTTP", "Reactor", "Primitives"]),
        tests(of: "HTTPServer", ["http-echo", "HTTP", "Reactor", "Telemetry", "Primitives"]),
        tests(of: "Postgres", ["AuthTesting", "Reactor", "Telemetry", "Primitives"]),
        tests(of: "AuthDomain", ["AuthTesting", "JOSE", "Crypto", "JSON", "Primitives"], hasFixtures: true),
        tests(
            of: "AuthStore",
            [
                "AuthTesting", "EmbeddedPostgres", "AuthDomain", "Postgres", "Reactor", "Telemetry", "JOSE", "Crypto",
                "JSON", "Primitives",
            ]),
        tests(of: "Outbound", ["Reactor", "Primitives"]),
        tests(
            of: "Signing",
            ["AuthTesting", "AuthDomain", "HTTPServer", "HTTP", "JOSE", "Crypto", "Reactor", "Telemetry", "Primitives"]),
        tests(
            of: "AuthAPI", ["AuthTesting", "AuthDomain", "HTTP", "JOSE", "Crypto", "JSON", "Telemetry", "Primitives"],
            hasFixtures: true),
        tests(of: "EmbeddedPostgres", ["AuthTesting", "Primitives"]),
        tests(of: "Doctor", ["AuthTesting", "Outbound", "JOSE", "Crypto", "JSON", "Primitives"], hasFixtures: true),
        tests(
            of: "SallyportServer",
            [
                "AuthTesting", "AuthAPI", "AuthDomain", "AuthStore", "Outbound", "Postgres", "Reactor", "Telemetry",
                "JOSE", "Crypto", "JSON", "Primitives",
            ]),
        .testTarget(
            name: "IntegrationTests",
            dependencies: ["AuthTesting", "EmbeddedPostgres", "JOSE", "Crypto", "JSON", "Primitives"],
            swiftSettings: house
        ),
        .testTarget(name: "RepositoryTests", swiftSettings: house),
    ]
)

// Named apart from their declarations: the table of Sources/README.md does not list what a plain build has not.
if isFuzzing {
    let support = "FuzzSupport"
    package.targets.append(
        .target(
            name: support, dependencies: ["HTTP", "Primitives"], path: "Fuzz/Support", swiftSettings: house + fuzzing))
    let parsers: [(String, [Target.Dependency])] = [
        ("Request", []), ("Chunks", []), ("Form", ["Primitives"]), ("JSON", ["JSON"]),
        ("JWS", ["JOSE", "Primitives"]), ("JWKS", ["JOSE"]),
    ]
    for (name, parser) in parsers {
        let program = "fuzz-" + name.lowercased()
        package.targets.append(
            .executableTarget(
                name: program, dependencies: [.init(stringLiteral: support)] + parser, path: "Fuzz/" + name,
                swiftSettings: house + fuzzing, linkerSettings: [.unsafeFlags(["-sanitize=fuzzer", "-use-ld=lld"])]))
        package.products.append(.executable(name: program, targets: [program]))
    }
}
