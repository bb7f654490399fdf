import AuthDomain
import Primitives
import Testing

@Suite("Device admission")
struct DeviceAdmissionTests {
    private static let at = Timestamp(secondsSinceEpoch: 1_800_000_000)

    private func admission(
        _ status: DeviceStatus, createdAfter: Int64 = 1, firstSeenAfter: Int64? = nil
    ) throws -> Device.Admission {
        let device = Device(
            id: UUID(bytes: [UInt8](repeating: 1, count: 16)), userID: "ada", metadata: try .sample(), status: status,
            statusAt: Self.at, createdAt: Self.at - .days(9), lastSeenAt: Self.at, lastSyncAt: nil,
            isPushRegistered: false)
        let session = IdentitySession(
            id: "s", userID: "ada", createdAt: Self.at + .microseconds(createdAfter), expiresAt: Self.at + .days(1),
            impersonatedBy: nil)
        return device.admission(
            of: session, firstSeenAt: firstSeenAfter.map { Self.at + .microseconds($0) })
    }

    @Test("an active device takes any session")
    func active() throws {
        #expect(try admission(.active, createdAfter: -1, firstSeenAfter: -1) == .asIs)
        #expect(try admission(.active) == .asIs)
    }

    @Test(
        "a revoked or wiped device comes back by a session made and first seen after it",
        arguments: [
            (DeviceStatus.revoked, RefusalReason.deviceRevoked), (.wipeOrdered, .wipeOrdered),
        ])
    func held(status: DeviceStatus, reason: RefusalReason) throws {
        #expect(try admission(status) == .reactivates)
        #expect(try admission(status, firstSeenAfter: 1) == .reactivates)
        #expect(try admission(status, createdAfter: 0) == .refused(reason))
        #expect(try admission(status, createdAfter: -1) == .refused(reason))
        #expect(try admission(status, firstSeenAfter: 0) == .refused(reason))
        #expect(try admission(status, createdAfter: 9, firstSeenAfter: -1) == .refused(reason))
    }

    @Test(
        "a lost and a suspended device come back by no session",
        arguments: [
            (DeviceStatus.lost, RefusalReason.deviceLost), (.suspended, .deviceSuspended),
        ])
    func never(status: DeviceStatus, reason: RefusalReason) throws {
        #expect(try admission(status, createdAfter: 1_000_000_000) == .refused(reason))
    }

    @Test("the reasons that wipe are those of held devices")
    func holds() {
        #expect(
            DeviceStatus.allCases.map(\.holdsReason) == [nil, .deviceRevoked, .deviceLost, .wipeOrdered, nil])
    }
}

@Suite("Device metadata")
struct DeviceMetadataTests {
    private func field(_ body: () throws(RequestFault) -> some Any) -> String? {
        do throws(RequestFault) {
            _ = try body()
            return nil
        } catch {
            if case .deviceMalformed(let field) = error { return field }
            return "\(error)"
        }
    }

    @Test(
        "installation ids of 16 to 128 of A-Za-z0-9._- are taken",
        arguments: [
            "0123456789abcdef", "ABCDEFGHIJKLMNOP", "._-._-._-._-._-.", String(repeating: "x", count: 128),
            "6F9619FF-8B86-D011-B42D-00C04FC964FF",
        ])
    func installationID(text: String) throws {
        #expect(try DeviceMetadata.sample(text).installationID == text)
    }

    @Test(
        "others are refused",
        arguments: [
            "", "0123456789abcde", String(repeating: "x", count: 129), "0123456789abcde ", " 0123456789abcdef",
            "0123456789abcde/", "0123456789abcde\u{0}", "0123456789abcdeé", "0123456789abcde\r\n", "0123456789abcde,",
            "0123456789abcd\u{ff11}", "\"0123456789abcdef\"",
        ])
    func badInstallationID(text: String) {
        #expect(
            field { () throws(RequestFault) in
                try DeviceMetadata(
                    installationID: text, platform: nil, name: nil, model: nil, osVersion: nil, appVersion: nil)
            } == "device id")
    }

    @Test("the platform is one of a closed list, and 'other' when absent")
    func platform() throws {
        for platform in ["ios", "android", "macos", "windows", "linux", "web", "other"] {
            #expect(try DeviceMetadata.sample(platform: platform).platform.rawValue == platform)
        }
        #expect(try DeviceMetadata.sample(platform: nil).platform == .other)
        for text in ["", "iOS", "IOS", " ios", "ios ", "tvos", "ios,android"] {
            #expect(
                field { () throws(RequestFault) in
                    try DeviceMetadata(
                        installationID: "0123456789abcdef", platform: text, name: nil, model: nil, osVersion: nil,
                        appVersion: nil)
                } == "device platform")
        }
    }

    private static let texts: [(sent: String, shown: String?)] = [
        ("Ada's phone", "Ada's phone"), ("", nil), ("   ", nil), ("\u{a0}\u{3000}", nil), ("\u{200b}", nil),
        ("\u{0}\u{1f}\u{7f}\u{9f}", nil), ("a\u{0}b\r\nc\u{1b}[31m", "abc[31m"), ("a\u{85}b", "ab"),
        ("a\u{2028}b\u{2029}c", "abc"), ("\u{202e}enohp", "enohp"), ("a\u{202a}\u{202b}\u{202c}\u{202d}b", "ab"),
        ("a\u{2066}b\u{2067}c\u{2068}d\u{2069}", "abcd"), ("a\u{200e}b\u{200f}c\u{61c}", "abc"),
        ("Телефон", "Телефон"), ("电话", "电话"), ("📱", "📱"), ("👩‍👩‍👧", "👩‍👩‍👧"), ("<b>&\"'", "<b>&\"'"),
        ("e\u{301}", "e\u{301}"), ("\u{feff}a", "a"), ("a\tb", "ab"),
    ]

    @Test("display texts lose what cannot be seen or turns the line around", arguments: texts)
    func displayText(sent: String, shown: String?) {
        let found = DeviceMetadata.displayText(sent)
        #expect(found?.unicodeScalars.map(\.value) == shown?.unicodeScalars.map(\.value))
    }

    @Test("display texts are cut at 100 scalars, counted after what is taken out")
    func cut() {
        let hundred = String(repeating: "x", count: 100)
        #expect(DeviceMetadata.displayText(hundred) == hundred)
        #expect(DeviceMetadata.displayText(hundred + "y") == hundred)
        #expect(DeviceMetadata.displayText(String(repeating: "\u{0}", count: 100) + hundred + "y") == hundred)
        #expect(DeviceMetadata.displayText(String(repeating: "e\u{301}", count: 60))?.unicodeScalars.count == 100)
        #expect(DeviceMetadata.displayText(String(repeating: "😀", count: 101))?.unicodeScalars.count == 100)
        #expect(DeviceMetadata.displayText(nil) == nil)
    }

    @Test("push tokens are printable, bounded and of a known provider")
    func push() throws {
        #expect(try PushRegistration(token: "abc", provider: "apns").provider == .apns)
        #expect(try PushRegistration(token: String(repeating: "x", count: 4_096), provider: "fcm").provider == .fcm)
        #expect(try PushRegistration(token: "{\"endpoint\":1}", provider: "webpush").provider == .webpush)
        for token in ["", "a b", "a\n", "ä", String(repeating: "x", count: 4_097)] {
            #expect(
                field { () throws(RequestFault) in try PushRegistration(token: token, provider: "apns") }
                    == "push token")
        }
        for provider in ["", "APNS", "sms"] {
            #expect(
                field { () throws(RequestFault) in try PushRegistration(token: "abc", provider: provider) }
                    == "push provider")
        }
        #expect(!"\(try PushRegistration(token: "abcdef", provider: "apns"))".contains("abcdef"))
    }
}

@Suite("Idempotency keys")
struct IdempotencyKeyTests {
    private static let good = "key-0000000000000001"

    @Test(
        "16 to 128 of A-Za-z0-9._- with or without quotes",
        arguments: [
            good, "\"\(good)\"", "0123456789abcdef", "\"0123456789abcdef\"", String(repeating: "k", count: 128),
            "\"" + String(repeating: "k", count: 128) + "\"",
        ])
    func accepted(text: String) {
        #expect((try? IdempotencyKey(text)) != nil)
    }

    @Test(
        "anything else is a bad request",
        arguments: [
            "", "\"", "\"\"", "0123456789abcde", "\"0123456789abcde\"", String(repeating: "k", count: 129),
            good + " ", "\"" + good, good + "\"", "\"\"" + good + "\"\"", "'" + good + "'", good + ",", good + "ä",
            good + "\u{0}", "\"\u{301}" + good + "\"",
        ])
    func refused(text: String) {
        #expect(throws: RequestFault.idempotencyKeyMalformed) { try IdempotencyKey(text) }
    }

    @Test("quotes make no other key; equal keys of two sessions hash apart; nothing shows")
    func identity() throws {
        let (plain, quoted) = (try IdempotencyKey(Self.good), try IdempotencyKey("\"\(Self.good)\""))
        #expect(plain == quoted)
        #expect(try plain != IdempotencyKey(Self.good + "x"))
        let secrets = [Secret([UInt8](repeating: 1, count: 32)), Secret([UInt8](repeating: 2, count: 32))]
        #expect(plain.hash(for: secrets[0]) == quoted.hash(for: secrets[0]))
        #expect(plain.hash(for: secrets[0]) != plain.hash(for: secrets[1]))
        #expect(plain.hash(for: secrets[0]).count == 16)
        #expect(!"\(plain)".contains("0001"))
    }
}
