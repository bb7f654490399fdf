import AuthDomain
import Doctor
import JOSE
import Outbound
import Primitives

/// `doctor`: what is wrong with this deployment, and whether PowerSync will take its tokens.
struct DoctorCommand {
    /// The address that apps are given for PowerSync.
    let powerSync: String?
    /// PowerSync's own settings, as YAML or JSON.
    let powerSyncConfig: String?
    /// A message of PowerSync or of an app's log, to be explained.
    let message: String?

    /// 0: no fault; 1: at least one.
    func run(_ reader: SettingsReader, _ environment: ProcessEnvironment) -> Int32 {
        var report = DoctorReport()
        let settings: Settings
        do throws(SettingProblems) {
            settings = try reader.read(for: .inspecting)
        } catch {
            for problem in error.all { report.add(.fault, "settings", problem.description) }
            for line in report.lines { environment.say(line) }
            return 1
        }
        let deployment = DeploymentCheck(settings: settings, clock: SystemClock())
        let keyring = deployment.examine(&report)
        if let issuer = settings.issuer {
            deployment.examineIssuer(issuer, signingKID: keyring?.signing.kid, &report)
            let terms = PowerSyncTerms(
                issuer: issuer.text, audiences: settings.expectedAudiences,
                gatedAudiences: settings.gateMode == .scopes ? settings.gate(issuer).audiences : nil,
                accessLifetime: settings.accessLifetime, keys: keyring?.published ?? [])
            for finding in terms.findings { report.add(finding, "powersync") }
            if settings.publishLead < .minutes(65) {
                report.add(PowerSyncFinding(.publishLeadShort, "SALLYPORT_PUBLISH_LEAD"), "powersync")
            }
            examinePowerSync(terms, environment, &report)
            for line in report.lines { environment.say(line) }
            environment.say("\nFor PowerSync's configuration:\n\n\(terms.clientAuthBlock)\n")
            for fact in terms.facts { environment.say(fact) }
        } else {
            for line in report.lines { environment.say(line) }
        }
        explain(environment)
        return report.hasFault ? 1 : 0
    }

    private func examinePowerSync(
        _ terms: PowerSyncTerms, _ environment: ProcessEnvironment, _ report: inout DoctorReport
    ) {
        if let powerSync {
            var findings = EndpointProbe.findings(powerSync)
            if let address = OutboundAddress(powerSync) {
                findings += EndpointProbe.findings(CommandFetch.get(address))
            }
            add(findings, "powersync", "the endpoint answers and is a bare origin", &report)
        }
        if let powerSyncConfig {
            let findings = PowerSyncJudge(terms: terms, variables: { environment.variables[$0] })
                .findings(config: ProcessEnvironment.bytes(powerSyncConfig), name: powerSyncConfig)
            add(findings, "powersync config", "client_auth fits our key set and audiences", &report)
        }
    }

    private func add(
        _ findings: [PowerSyncFinding], _ check: String, _ good: String, _ report: inout DoctorReport
    ) {
        for finding in findings { report.add(finding, check) }
        if findings.isEmpty { report.add(.ok, check, good) }
    }

    private func explain(_ environment: ProcessEnvironment) {
        guard let message else { return }
        let faults = PowerSyncSymptom.faults(of: message)
        environment.say(faults.isEmpty ? "\nThe message is none that is known here." : "\nThe message may mean:")
        for fault in faults { environment.say("  \(fault.name): \(fault.advice)") }
    }
}
