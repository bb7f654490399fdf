import AuthAPI
import AuthDomain
import AuthStore
import Crypto
import EmbeddedPostgres
import Glibc
import Postgres
import Primitives
import Reactor

/// `dev`: a server that needs no configuration. It brings its own PostgreSQL, a demo user and a session, and says what
/// to paste next.
struct DevCommand {
    private static let database = "sallyport"

    func run(_ environment: ProcessEnvironment) -> Int32 {
        Signals.block(ServerProcess.signals)
        do throws(EmbeddedPostgresError) {
            let folder = try EmbeddedPostgres.folder(forProject: Self.workingFolder)
            environment.complain("PostgreSQL's data is in \(folder)")
            let postgres = try startPostgres(folder)
            defer { postgres.stop(.fast) }
            return serve(postgres, folder, environment)
        } catch {
            environment.complain("\(error)")
            return 1
        }
    }

    private func startPostgres(_ folder: String) throws(EmbeddedPostgresError) -> EmbeddedPostgres {
        let postgres = try EmbeddedPostgres(folder: folder, durability: .durable)
        try postgres.start()
        if !postgres.hasDatabase(Self.database) { try postgres.createDatabase(Self.database) }
        return postgres
    }

    private func serve(_ postgres: EmbeddedPostgres, _ folder: String, _ environment: ProcessEnvironment) -> Int32 {
        let url = postgres.connectionURL(database: Self.database)
        do throws(CommandFailure) {
            _ = try MigratedDatabase(url: DatabaseURL(Secret(url))).migrate(isStandalone: true)
        } catch {
            environment.complain(error.description)
            return 1
        }
        let listen = environment.variables["SALLYPORT_LISTEN"] ?? "127.0.0.1:8080"
        let given = environment.variables.filter { $0.key.hasPrefix("SALLYPORT_") }
        let own = [
            "SALLYPORT_DATABASE_URL": url, "SALLYPORT_ISSUER": "http://\(listen)", "SALLYPORT_LISTEN": listen,
            "SALLYPORT_KEK": keyEncryptionKey(in: folder),
        ].filter { given[$0.key + "_FILE"] == nil }
        let reader = SettingsReader(
            environment: own.merging(given) { _, given in given }, file: nil, readFile: ProcessEnvironment.file)
        guard let settings = environment.settings(reader, for: .serving) else { return 1 }
        var server = ServerProcess(settings: settings, kind: .test, environment: environment)
        server.endsWithTerminal = true
        let scheme = settings.certificateFile == nil ? "http" : "https"
        server.onReady = { started, address in
            let demo = DemoSession(environment: environment, databaseURL: url, folder: folder)
            await demo.announce(started, origin: "\(scheme)://\(address)")
        }
        return server.run()
    }

    /// Kept beside the data that it opens: this is a cluster for trying things out, on one machine.
    private func keyEncryptionKey(in folder: String) -> String {
        let path = folder + "/kek"
        if let kept = ProcessEnvironment.file(path), Base64.decode(kept)?.count == 32 { return kept }
        let key = Base64.encode(SystemRandom().bytes(32))
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        if descriptor >= 0 {
            _ = Array(key.utf8).withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            close(descriptor)
        }
        return key
    }

    private static var workingFolder: String {
        guard let path = getcwd(nil, 0) else { return "." }
        defer { free(path) }
        return String(cString: path)
    }
}

/// The demo user's session, and the commands that make a pair of it.
struct DemoSession: Sendable {
    let environment: ProcessEnvironment
    let databaseURL: String
    /// Where the key-encryption key lies.
    let folder: String

    func announce(_ started: Started, origin: String) async {
        do throws(DatabaseError) {
            let token = try await make(started)
            environment.complain(text(token: token, origin: origin))
        } catch {
            environment.complain("the demo session could not be made: \(error)")
        }
    }

    private func make(_ started: Started) async throws(DatabaseError) -> String {
        let identity = StandaloneIdentity(random: SystemRandom())
        let now = started.services.clock.now()
        let user = try await identity.user(
            email: "ada@example.com", name: "Ada Field", isVerified: true, at: now, in: started.database)
        let token = try await identity.session(of: user, lifetime: .days(7), at: now, in: started.database)
        let secret: Secret<[UInt8]>
        do throws(AuthDomain.Unavailability) {
            secret = try await started.keyring.identitySecret()
        } catch {
            throw .unavailable(.dependency)
        }
        return SessionTokenReader.sign(token, secret: secret)
    }

    private func text(token: String, origin: String) -> String {
        """

        Sallyport is at \(origin), with a demo user and a session of seven days. In another terminal:

        # 1. The session becomes a token pair on a device:
        curl -sw '\\n' \(origin)/auth/token \\
          -d grant_type=urn:ietf:params:oauth:grant-type:token-exchange \\
          -d subject_token_type=urn:sallyport:token-type:session \\
          --data-urlencode 'subject_token=\(token)' \\
          -d device_id=demo-installation-1 -d device_platform=ios -d device_name='Demo phone' | tee pair.json

        # 2. A stranger verifies the access token by the published keys alone:
        python3 Examples/verify_pair.py pair.json \(origin)

        # 3. The pair rotates:
        curl -sw '\\n' \(origin)/auth/token -d grant_type=refresh_token \\
          --data-urlencode "refresh_token=$(python3 -c 'import json; print(json.load(open("pair.json"))["refresh_token"])')"

        # 4. The user's devices:
        curl -sw '\\n' \(origin)/auth/devices \\
          -H "Authorization: Bearer $(python3 -c 'import json; print(json.load(open("pair.json"))["access_token"])')"

        # 5. The operator's commands, on this database:
        env SALLYPORT_DATABASE_URL='\(databaseURL)' SALLYPORT_KEK_FILE='\(folder)/kek' \\
          SALLYPORT_ISSUER=\(origin) .build/release/sallyport doctor

        """
    }
}
