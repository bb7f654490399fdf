import AuthDomain
import AuthStore
import Crypto
import Doctor
import JOSE
import JSON
import Outbound
import Postgres
import Primitives
import Telemetry

/// `token inspect`: what a token says, whether it is good, and if not, why not.
struct TokenCommand {
    /// `nil` or `-`: from stdin, where the list of processes does not show it.
    let token: String?
    /// A file or an address; `nil` is the database.
    let keySet: String?
    let issuer: String?
    let audience: String?

    /// 0: good; 1: not, or not to be found out.
    func run(_ reader: SettingsReader, _ environment: ProcessEnvironment) -> Int32 {
        guard let settings = environment.settings(reader, for: .inspecting) else { return 1 }
        guard let pasted = token.flatMap({ $0 == "-" ? nil : $0 }) ?? ProcessEnvironment.input() else {
            environment.complain("stdin cannot be read, or holds more than a token")
            return 1
        }
        let now = now(settings)
        do throws(TokenText.Fault) {
            let token = try TokenText(pasted)
            for line in TokenReport(token, at: now).lines { environment.say(line) }
            let keys = try keys(settings)
            var expectation = TokenExpectation(keys: keys, now: now)
            expectation.issuer = issuer ?? settings.issuer?.text
            expectation.audiences = audience.map { [$0] } ?? settings.acceptedAudiences
            if let fault = expectation.fault(of: token) { throw TokenText.Fault(fault) }
            environment.say("verified: by key \(shown(token.jws.kid ?? "")) of \(keys.source); it is good.")
            if TokenExpectation.Kind(token.jws.type) == .access {
                let findings = PowerSyncTokenProbe.findings(
                    header: token.jws.header, claims: token.claims, audiences: [], at: now)
                for finding in findings { environment.say("powersync: \(finding.fault.name): \(finding.sentence)") }
                if findings.isEmpty {
                    environment.say("powersync: takes it, where client_auth names one of its audiences")
                }
            }
            if expectation.issuer == nil { environment.say("not compared: the issuer (--issuer, SALLYPORT_ISSUER)") }
            if expectation.audiences.isEmpty { environment.say("not compared: the audience (--audience)") }
            return 0
        } catch {
            environment.say("refused: \(error.sentence)")
            return 1
        }
    }

    /// By the database's clock where its keys are asked for too, as far as it can be read.
    private func now(_ settings: Settings) -> Timestamp {
        guard keySet == nil, let url = settings.databaseURL else { return SystemClock().now() }
        let clock = try? CommandDatabase(url: url, isReadOnly: true).use { database async throws(DatabaseError) in
            try await FollowedClock.read(from: database)
        }
        return (clock ?? FollowedClock()).now()
    }

    private func keys(_ settings: Settings) throws(TokenText.Fault) -> VerificationKeys {
        guard let keySet else { return try databaseKeys(settings) }
        if let address = OutboundAddress(keySet) { return try fetchedKeys(address) }
        guard !keySet.hasPrefix("http:"), !keySet.hasPrefix("https:") else {
            throw TokenText.Fault("Not verified: the address of the keys is neither https nor http on loopback.")
        }
        guard let text = ProcessEnvironment.file(keySet) else {
            throw TokenText.Fault("Not verified: the file of the keys cannot be read.")
        }
        return try parsed(Array(text.utf8), from: "the file")
    }

    private func parsed(_ bytes: [UInt8], from source: String) throws(TokenText.Fault) -> VerificationKeys {
        guard let set = try? JWKSet.parse(bytes) else {
            throw TokenText.Fault("Not verified: \(source) is not a key set ({\"keys\":[…]}).")
        }
        return VerificationKeys(set, from: source)
    }

    private func fetchedKeys(_ address: OutboundAddress) throws(TokenText.Fault) -> VerificationKeys {
        switch CommandFetch.get(address) {
        case .failure(let error): throw TokenText.Fault("Not verified: the keys could not be fetched: \(error).")
        case .success(let response):
            guard response.status == 200 else {
                throw TokenText.Fault("Not verified: the address of the keys answered \(response.status) and not 200.")
            }
            return try parsed(response.body, from: "the key set at \(address)")
        }
    }

    private func databaseKeys(_ settings: Settings) throws(TokenText.Fault) -> VerificationKeys {
        guard let url = settings.databaseURL else {
            throw TokenText.Fault(
                "Not verified: there are no keys to verify it by; give --jwks FILE or URL, or SALLYPORT_DATABASE_URL.")
        }
        switch CommandKeyring.load(url, settings.keyEncryptionKeys) {
        case .success(let keyring): return VerificationKeys(keyring)
        case .failure(let problem): throw TokenText.Fault("Not verified: \(problem.sentence)")
        }
    }
}

extension Settings {
    /// What an access token may be for; empty without an issuer, which is one of them.
    var expectedAudiences: [String] { issuer.map(audiences) ?? audiences ?? [] }

    /// The same, and the issuer, which a token carries whose audiences are all withheld.
    fileprivate var acceptedAudiences: [String] {
        expectedAudiences + (expectedAudiences.isEmpty ? [] : issuer.map { [$0.text] } ?? [])
    }
}
