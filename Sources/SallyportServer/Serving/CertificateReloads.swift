import Primitives
import TLS
import Telemetry

/// The certificate of the settings: read at the start, and again on SIGHUP.
struct CertificateReloads: Sendable {
    /// `nil` when TLS is somebody else's, or nobody's.
    let certificates: TLSCertificates?
    private let logger: Logger
    private let clock: any WallClock

    /// - Throws: the setting to look at, when the pair cannot be served.
    init(_ settings: Settings, clock: any WallClock, logger: Logger) throws(SettingProblem) {
        self.clock = clock
        self.logger = logger
        guard let certificateFile = settings.certificateFile, let keyFile = settings.certificateKeyFile else {
            certificates = nil
            return
        }
        do throws(CertificateError) {
            certificates = try TLSCertificates(certificateFile: certificateFile, keyFile: keyFile)
        } catch {
            throw SettingProblem(name: Self.setting(for: error), message: error.description)
        }
        report("certificate read")
    }

    /// Takes the files up anew, blocking. A pair that cannot be served is logged, and the old one stays.
    func reload() {
        guard let certificates else {
            return logger.info("SIGHUP changes nothing: no certificate is served")
        }
        do throws(CertificateError) {
            try certificates.reload()
            report("certificate read again")
        } catch {
            logger.error(
                "certificate refused, the old one stays",
                [LogField("setting", Self.setting(for: error)), LogField("reason", error.description)])
        }
    }

    private func report(_ message: StaticString) {
        guard let expiry = certificates?.expiry else { return }
        let fields = [LogField("tls.certificate.expires_at", expiry.rfc3339)]
        logger.info(message, fields)
        if expiry <= clock.now() { logger.warning("the certificate has expired", fields) }
    }

    private static func setting(for error: CertificateError) -> String {
        error.isAboutKey ? "SALLYPORT_TLS_KEY_FILE" : "SALLYPORT_TLS_CERT_FILE"
    }
}
