import Foundation
import Testing

/// A certificate and its key, made by the `openssl` command in a folder of their own, which goes away with it.
final class Certificate: Sendable {
    enum Kind {
        case p256
        case rsa2048
        case rsa1024
    }

    let folder: String
    var certificateFile: String { folder + "/certificate.pem" }
    var keyFile: String { folder + "/key.pem" }

    init(_ kind: Kind = .p256, name: String = "localhost") throws {
        folder = NSTemporaryDirectory() + "sallyport-tls-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try make(kind, name: name)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Replaces both files.
    func make(_ kind: Kind = .p256, name: String) throws {
        let key: [String] =
            switch kind {
            case .p256: ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
            case .rsa2048: ["-newkey", "rsa:2048"]
            case .rsa1024: ["-newkey", "rsa:1024"]
            }
        try openssl(
            ["req", "-x509"] + key + [
                "-nodes", "-keyout", keyFile, "-out", certificateFile, "-days", "2", "-subj", "/CN=\(name)",
                "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
            ])
    }

    /// The key behind a pass phrase.
    func encryptKey() throws {
        try openssl(["pkey", "-in", keyFile, "-aes256", "-passout", "pass:secret", "-out", keyFile + ".enc"])
        try FileManager.default.removeItem(atPath: keyFile)
        try FileManager.default.moveItem(atPath: keyFile + ".enc", toPath: keyFile)
    }

    func write(_ text: String, to file: String) throws {
        try Data(text.utf8).write(to: URL(filePath: file))
    }

    private func openssl(_ arguments: [String]) throws {
        try #require(Command("openssl", arguments).run().status == 0)
    }
}
