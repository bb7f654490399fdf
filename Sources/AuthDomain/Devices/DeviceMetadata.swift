package import Primitives

package enum DevicePlatform: String, Sendable, CaseIterable {
    case ios, android, macos, windows, linux, web, other
}

package enum PushProvider: String, Sendable, CaseIterable {
    case apns, fcm, webpush
}

/// A push address; write-only: no route shows it.
package struct PushRegistration: Sendable {
    package let token: Secret<String>
    package let provider: PushProvider

    package init(token: String, provider: String) throws(RequestFault) {
        guard !token.isEmpty, token.utf8.count <= Limits.pushTokenCharactersMax,
            token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f })
        else { throw .deviceMalformed(field: "push token") }
        guard let provider = PushProvider(rawValue: provider) else {
            throw .deviceMalformed(field: "push provider")
        }
        self.token = Secret(token)
        self.provider = provider
    }
}

/// What a client says of its installation, checked. The client's word: shown, never trusted.
package struct DeviceMetadata: Equatable, Sendable {
    package let installationID: String
    package let platform: DevicePlatform
    package let name: String?
    package let model: String?
    package let osVersion: String?
    package let appVersion: String?

    /// - Parameters: texts as sent. The installation id has 16–128 of `A-Za-z0-9._-`; the platform is one of the closed
    ///   list, absent = `other`; display texts are cut at 100 scalars and lose their control characters.
    package init(
        installationID: String, platform: String?, name: String?, model: String?, osVersion: String?,
        appVersion: String?
    ) throws(RequestFault) {
        guard (16...128).contains(installationID.utf8.count), installationID.utf8.allSatisfy(Self.isIdentifier) else {
            throw .deviceMalformed(field: "device id")
        }
        guard let platform = DevicePlatform(rawValue: platform ?? DevicePlatform.other.rawValue) else {
            throw .deviceMalformed(field: "device platform")
        }
        self.installationID = installationID
        self.platform = platform
        self.name = Self.displayText(name)
        self.model = Self.displayText(model)
        self.osVersion = Self.displayText(osVersion)
        self.appVersion = Self.displayText(appVersion)
    }

    /// `nil` where nothing visible is left.
    package static func displayText(_ text: String?) -> String? {
        guard let text else { return nil }
        var shown = String.UnicodeScalarView()
        for scalar in text.unicodeScalars where !isLeftOut(scalar) {
            guard shown.count < Limits.deviceTextScalarsMax else { break }
            shown.append(scalar)
        }
        let isVisible = shown.contains { !$0.properties.isWhitespace && !isJoiner($0) }
        return isVisible ? String(shown) : nil
    }

    /// Control characters, line and paragraph separators, the marks that turn the direction of text around (a name must
    /// not rearrange the line that it is shown in), and spaces and operators without a width: two names that look the same
    /// are the same.
    private static func isLeftOut(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7f..<0xa0, 0x061c, 0x200b, 0x200e...0x200f, 0x2028...0x202e, 0x2060...0x2069, 0xfeff: true
        default: false
        }
    }

    /// Emoji and some scripts are written with these, and between visible characters only.
    private static func isJoiner(_ scalar: Unicode.Scalar) -> Bool { (0x200c...0x200d).contains(scalar.value) }

    static func isIdentifier(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
