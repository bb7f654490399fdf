import Glibc
package import Primitives

/// A certificate and its key in two files, read at the start and whenever asked to.
///
/// Connections that are open keep the context they began with; a pair that cannot be served never takes the place of one
/// that can.
package final class TLSCertificates: Sendable {
    private let certificateFile: String
    private let keyFile: String
    private let inForce: Locked<TLSContext>

    /// Reads the files, blocking.
    ///
    /// - Parameters:
    ///   - certificateFile: PEM, the server's own certificate first, its chain behind it.
    ///   - keyFile: PEM, without a pass phrase.
    package init(certificateFile: String, keyFile: String) throws(CertificateError) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
        inForce = Locked(try Self.read(certificateFile, keyFile))
    }

    /// For the next connection.
    package var context: TLSContext { inForce.withLock { $0 } }

    /// The end of the certificate's validity.
    package var expiry: Timestamp? { context.expiry }

    /// Reads the files again, blocking. When it throws, nothing has changed.
    package func reload() throws(CertificateError) {
        let context = try Self.read(certificateFile, keyFile)
        inForce.withLock { $0 = context }
    }

    private static func read(_ certificateFile: String, _ keyFile: String) throws(CertificateError) -> TLSContext {
        guard let chain = content(of: certificateFile) else { throw .certificateUnreadable }
        guard let key = content(of: keyFile) else { throw .keyUnreadable }
        let context = try TLSContext()
        try context.use(chain: chain)
        try context.use(key: Secret(key))
        return context
    }

    /// `nil` when the file cannot be read or is far too large.
    private static func content(of path: String) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while content.count <= Limits.fileBytesMax {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count == 0 { return content }
            guard count > 0 else { return nil }
            content += buffer[..<count]
        }
        return nil
    }
}
