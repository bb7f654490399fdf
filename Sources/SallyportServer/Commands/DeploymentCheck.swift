import AuthDomain
import AuthStore
import Doctor
import JOSE
import JSON
import Outbound
import Postgres
import Primitives

/// Looks at a deployment from where the command runs: settings, database, migrations, keys, identity store, clock, and
/// the issuer as the world reaches it. Nothing is changed.
struct DeploymentCheck {
    let settings: Settings
    let clock: any WallClock

    /// The checks up to the issuer, and the keys that they have found.
    func examine(_ report: inout DoctorReport) -> Keyring? {
        missingSettings(&report)
        guard let url = settings.databaseURL else { return nil }
        guard checkMigrations(url, &report) else { return nil }
        let keyring = checkKeys(url, &report)
        checkIdentities(&report)
        return keyring
    }

    private func missingSettings(_ report: inout DoctorReport) {
        let required: [(name: String, isSet: Bool)] = [
            ("SALLYPORT_DATABASE_URL", settings.databaseURL != nil), ("SALLYPORT_ISSUER", settings.issuer != nil),
            ("SALLYPORT_KEK", !settings.keyEncryptionKeys.isEmpty),
        ]
        let missing = required.filter { !$0.isSet }.map(\.name)
        if missing.isEmpty {
            report.add(.ok, "settings", "all readable, none missing")
        } else {
            report.add(.fault, "settings", "not set: \(missing.joined(separator: ", "))")
        }
        if settings.issuer?.isLoopback ?? false {
            report.add(.warning, "settings", "SALLYPORT_ISSUER is on loopback: no device and no container reaches it")
        }
    }

    /// Whether the database answers at all.
    private func checkMigrations(_ url: DatabaseURL, _ report: inout DoctorReport) -> Bool {
        let statuses: [MigrationStatus]
        do throws(CommandFailure) {
            statuses = try MigratedDatabase(url: url).statuses()
        } catch {
            report.add(.fault, "database", error.description)
            return false
        }
        report.add(.ok, "database", "answers")
        var isComplete = true
        for status in statuses {
            switch status.state {
            case .applied: continue
            case .pending:
                report.add(.fault, "migrations", "\(status.name) is pending: run `sallyport migrate`")
                isComplete = false
            case .changed: report.add(.fault, "migrations", "\(status.name) differs from the one that was applied")
            case .unknown: report.add(.warning, "migrations", "\(status.name) is of a newer version")
            }
        }
        if isComplete { report.add(.ok, "migrations", "\(statuses.count) applied") }
        return isComplete
    }

    private func checkKeys(_ url: DatabaseURL, _ report: inout DoctorReport) -> Keyring? {
        switch CommandKeyring.load(url, settings.keyEncryptionKeys) {
        case .failure(let problem):
            report.add(problem == .none ? .warning : .fault, "keys", problem.sentence)
            return nil
        case .success(let keyring):
            report.add(.ok, "keys", "\(keyring.published.count) published, signing \(keyring.signing.kid)")
            checkClock(url, keyring, &report)
            return keyring
        }
    }

    private func checkClock(_ url: DatabaseURL, _ keyring: Keyring, _ report: inout DoctorReport) {
        let found = try? CommandDatabase(url: url, isReadOnly: true).use { database async throws(DatabaseError) in
            try await FollowedClock.read(from: database)
        }
        guard let followed = found else { return report.add(.fault, "clock", "the database's clock cannot be read") }
        if let fault = followed.fault { return report.add(.fault, "clock", fault) }
        if let warning = followed.warning { report.add(.warning, "clock", warning) }
        // A key cannot be younger than now: the database has, or had, a wrong clock.
        let ahead = keyring.signing.createdAt - followed.now()
        if ahead > .tokenLeeway {
            report.add(
                .fault, "clock",
                "the signing key was made \(ahead.wholeSeconds) s in the future of the database's clock")
        }
    }

    private func checkIdentities(_ report: inout DoctorReport) {
        guard let url = settings.identityDatabaseURL ?? settings.databaseURL, let main = settings.databaseURL,
            let mapping = try? settings.identityMapping()
        else { return }
        do throws(CommandFailure) {
            let fault = try CommandDatabase(url: url, isReadOnly: true).use { database async throws(DatabaseError) in
                do throws(IdentityCatalog.ReadFailure) {
                    _ = try await IdentityCatalog.read(mapping, from: database)
                    return String?.none
                } catch {
                    switch error {
                    case .unavailable(let reason): throw reason
                    case .problem(let problem): return problem.description
                    }
                }
            }
            if let fault { return report.add(.fault, "identity store", fault + ": see `sallyport identity inspect`") }
            let tables = try CommandDatabase(url: url, isReadOnly: true).use { database async throws(DatabaseError) in
                try await IdentityVisibility.read(mapping, from: database)
            }
            for warning in tables.compactMap(\.warning) { report.add(.warning, "identity store", warning) }
            let vanished = try CommandDatabase(url: main, isReadOnly: true).use {
                database async throws(DatabaseError) in
                try await DisappearanceRecord.read(from: database) != nil
            }
            if vanished {
                report.add(
                    .fault, "identity store", "linked sessions have vanished: `sallyport identity confirm` or `dismiss`"
                )
            } else {
                report.add(.ok, "identity store", "tables and columns are as the settings say")
            }
        } catch {
            report.add(.fault, "identity store", error.description)
        }
        if settings.identitySecrets.isEmpty, !settings.allowsUnsignedSessions {
            report.add(
                .warning, "identity store", "SALLYPORT_IDENTITY_SECRETS is not set: only a standalone database serves")
        }
    }

    /// The issuer as it is reached from here: key set, metadata, and its clock.
    func examineIssuer(_ issuer: Issuer, signingKID: String?, _ report: inout DoctorReport) {
        let base = issuer.text
        guard let keySet = OutboundAddress(base + "/.well-known/jwks.json"),
            let metadata = OutboundAddress(base + "/.well-known/openid-configuration")
        else { return }
        let result = CommandFetch.get(keySet)
        let findings = KeySetProbe.findings(result, signingKID: signingKID)
        for finding in findings { report.add(finding, "issuer") }
        guard case .success(let response) = result else { return }
        if findings.isEmpty {
            report.add(.ok, "issuer", "serves our key set in \(response.duration.wholeMilliseconds) ms")
        }
        compareClock(response, &report)
        guard case .success(let answer) = CommandFetch.get(metadata) else { return }
        let named = (try? JSONParser.parse(answer.body))?.objectValue?["issuer"]?.stringValue
        if named.map({ areIdentical($0, base) }) ?? false {
            report.add(.ok, "metadata", "names the issuer as SALLYPORT_ISSUER does")
        } else {
            report.add(.fault, "metadata", "names the issuer \(shown(named ?? "not at all")) and not \(base)")
        }
    }

    private func compareClock(_ response: OutboundResponse, _ report: inout DoctorReport) {
        guard let date = response.date else {
            return report.add(.warning, "clock", "not compared: the issuer's answer has no date")
        }
        let difference = clock.now() - date
        let seconds = abs(difference.wholeSeconds)
        if difference > .tokenLeeway || difference < .zero - .tokenLeeway {
            report.add(PowerSyncFinding(.clockSkew, "\(seconds) s from the issuer's"), "clock")
        } else {
            report.add(.ok, "clock", "within \(max(1, seconds)) s of the issuer's")
        }
    }
}
