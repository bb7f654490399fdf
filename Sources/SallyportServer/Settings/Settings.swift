import AuthAPI
import AuthDomain
import AuthStore
import Crypto
import Postgres
import Primitives
import Reactor
import Telemetry

/// Everything that an operator can set, checked. Rows and defaults are in `SettingTable`.
package struct Settings: Sendable {
    var databaseURL: DatabaseURL?
    var identityDatabaseURL: DatabaseURL?
    /// Of the process; `nil` stands for a number a loop.
    var databaseConnections: Int?
    var issuer: Issuer?
    var keyEncryptionKeys: [Secret<[UInt8]>] = []
    var listen: SocketAddress?
    /// Both or none.
    var certificateFile: String?
    var certificateKeyFile: String?
    var workers: Int?
    var trustedProxies: [CIDR] = []
    /// As browsers write them, and schemes of apps.
    var trustedOrigins: [String] = []
    var connectionsPerAddress = AddressShare.quarter
    var rateLimits = RateLimits(address: nil, session: nil)
    var logLevel = Logger.Level.info
    var accessLogEvery = 1
    var drainPause = Duration.zero

    var audiences: [String]?
    var scopes = ScopeSet([])
    var gateMode = VerifiedGate.Mode.scopes
    /// `nil`: the default, as far as it is configured.
    var gatedScopes: ScopeSet?
    var gatedAudiences: [String]?
    var accessTokenType = AccessTokenType.atJWT
    var accessLifetime = Duration.zero
    var refreshLifetime = Duration.zero
    var sessionMaxAge = Duration.zero
    var replayWindow: Duration?
    var concurrencyWindow = Duration.zero
    var offlineWrite = Duration.zero
    var devicesMax = 0
    var verdictPolicy = VerdictPolicy.careful
    var resourceServers: [ResourceServer] = []

    var publishLead = Duration.zero
    var keyRotation = Duration.zero
    var keyBits = 2_048

    var identityPreset = IdentityMapping.Preset.kysely
    var identitySchema = ""
    var identitySessionTable = ""
    var identityUserTable = ""
    var identityColumns: [String: String] = [:]
    var identityTimeZone = ""
    var identitySecrets: [Secret<[UInt8]>] = []
    var allowsUnsignedSessions = false
    var tokenLookup = TokenLookup.plain
    var identityPoll = Duration.zero
    var identityFollow = IdentityFollow.revocation
    var vanishedPercentMax = 0

    init() {}

    /// A service that may ask about tokens.
    struct ResourceServer: Equatable, Sendable {
        let id: String
        /// SHA-256 of its secret.
        let secretHash: [UInt8]
    }
}

extension Settings {
    /// What the domain reads.
    func policy(issuer: Issuer) -> AuthPolicy {
        var policy = AuthPolicy(
            issuer: issuer.text, audiences: audiences(issuer), scopes: scopes, gate: gate(issuer),
            accessLifetime: accessLifetime, refreshLifetime: refreshLifetime, sessionMaxAge: sessionMaxAge,
            windows: RotationWindows(replay: replayWindow ?? refreshLifetime, concurrency: concurrencyWindow),
            offlineWrite: offlineWrite, verdictPolicy: verdictPolicy)
        policy.devicesMax = devicesMax
        policy.accessTokenType = accessTokenType
        policy.vanishedPercentMax = vanishedPercentMax
        return policy
    }

    /// - Throws: the setting, when a key is missing or given twice.
    func sealing() throws(SettingProblem) -> KeyEncryptionKeys {
        do throws(CryptoError) {
            return try KeyEncryptionKeys(keyEncryptionKeys)
        } catch {
            throw SettingProblem(
                name: "SALLYPORT_KEK",
                message: keyEncryptionKeys.isEmpty ? "must be set" : "no key may be given twice")
        }
    }

    /// The identity store's, where it is not the one of our database.
    var separateIdentityURL: DatabaseURL? {
        identityDatabaseURL.flatMap { $0.text.exposed == databaseURL?.text.exposed ? nil : $0 }
    }

    var keySchedule: KeySchedule { KeySchedule(publishLead: publishLead, rotation: keyRotation) }

    var callers: ResourceServers { ResourceServers(resourceServers.map { ($0.id, $0.secretHash) }) }

    func identityMapping() throws(SettingProblem) -> IdentityMapping {
        do throws(IdentityMapping.ColumnUnknown) {
            return try IdentityMapping(
                preset: identityPreset, schema: identitySchema, sessionTable: identitySessionTable,
                userTable: identityUserTable, columns: identityColumns, naiveTimeZone: identityTimeZone)
        } catch {
            throw SettingProblem(name: "SALLYPORT_IDENTITY_COLUMNS", message: "\(error.name) is not a column we read")
        }
    }
}
