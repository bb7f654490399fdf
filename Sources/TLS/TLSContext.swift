import COpenSSL
import Glibc
import Primitives

/// What all connections with one certificate share: the pair, the rules of the protocol and the key of its tickets.
///
/// TLS 1.2 and 1.3 with forward secrecy and AEAD alone, no renegotiation, no compression, no early data; HTTP/1.1 by
/// ALPN. Tickets die with the context, so a new certificate is shown to everybody.
/// Source: RFC 8446, RFC 5246, RFC 9325 §4.
package final class TLSContext: @unchecked Sendable {
    // SAFETY: owned here, freed in deinit; connections hold a reference of their own. Only read after init, which
    // libssl allows from many threads.
    let pointer: OpaquePointer

    private static let ciphers =
        "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
        + "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305"
    private static let groups = "X25519:P-256:P-384"
    /// RFC 7301 §3.1: names, each behind its length.
    private static let protocols: [UInt8] = [8] + Array("http/1.1".utf8)
    /// 112 bits: RSA of 2048 bits, P-224 and up, no SHA-1.
    private static let securityLevel: Int32 = 2

    init() throws(CertificateError) {
        guard let pointer = SSL_CTX_new(TLS_server_method()) else {
            ERR_clear_error()
            throw .unavailable
        }
        self.pointer = pointer
        SSL_CTX_set_security_level(pointer, Self.securityLevel)
        SSL_CTX_set_options(pointer, sallyport_ssl_server_options)
        sallyport_ssl_ctx_set_modes(pointer)
        sallyport_ssl_ctx_set_tickets_only(pointer)
        SSL_CTX_set_timeout(pointer, Limits.ticketLifetimeSeconds)
        SSL_CTX_set_alpn_select_cb(pointer, Self.selectProtocol, nil)
        // Asked for a pass phrase, libssl would wait for a terminal.
        SSL_CTX_set_default_passwd_cb(pointer) { _, _, _, _ in -1 }
        // RFC 8446 §4.6.1: a ticket is good for this service alone.
        let name = Array("sallyport".utf8)
        guard sallyport_ssl_ctx_set_protocols(pointer, Self.ciphers, Self.groups) == 1,
            SSL_CTX_set_session_id_context(pointer, name, UInt32(name.count)) == 1
        else {
            ERR_clear_error()
            throw .unavailable
        }
    }

    deinit {
        SSL_CTX_free(pointer)
    }

    /// - Parameter chain: PEM, the leaf first.
    func use(chain: [UInt8]) throws(CertificateError) {
        // SAFETY: the BIO reads from `chain` within the closure alone, and is freed before its end.
        let certificates = chain.withUnsafeBytes { bytes -> [OpaquePointer] in
            guard let bio = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return [] }
            defer { BIO_free(bio) }
            var found: [OpaquePointer] = []
            while let certificate = PEM_read_bio_X509(bio, nil, nil, nil) { found.append(certificate) }
            return found
        }
        defer {
            for certificate in certificates { X509_free(certificate) }
            ERR_clear_error()
        }
        guard let leaf = certificates.first else { throw .certificateMalformed }
        guard SSL_CTX_use_certificate(pointer, leaf) == 1 else { throw .certificateWeak }
        for certificate in certificates.dropFirst() {
            guard sallyport_ssl_ctx_add_chain(pointer, certificate) == 1 else { throw .certificateWeak }
        }
    }

    /// - Parameter key: PEM, without a pass phrase.
    func use(key: Secret<[UInt8]>) throws(CertificateError) {
        defer { ERR_clear_error() }
        let parsed = key.exposed.withUnsafeBytes { bytes -> OpaquePointer? in
            guard let bio = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return nil }
            defer { BIO_free(bio) }
            return PEM_read_bio_PrivateKey(bio, nil, { _, _, _, _ in -1 }, nil)
        }
        guard let parsed else { throw .keyMalformed }
        defer { EVP_PKEY_free(parsed) }
        guard SSL_CTX_use_PrivateKey(pointer, parsed) == 1, SSL_CTX_check_private_key(pointer) == 1 else {
            throw .keyMismatched
        }
    }

    /// The end of the leaf's validity.
    var expiry: Timestamp? {
        guard let leaf = SSL_CTX_get0_certificate(pointer), let end = X509_get0_notAfter(leaf) else { return nil }
        var time = tm()
        guard ASN1_TIME_to_tm(end, &time) == 1 else { return nil }
        return Timestamp(secondsSinceEpoch: Int64(timegm(&time)))
    }

    /// RFC 7301 §3.2: without a common protocol the handshake ends.
    private static let selectProtocol: SSL_CTX_alpn_select_cb_func = { _, chosen, length, offered, count, _ in
        // Asked the other way round, so that the answer lies in the client's list, which outlives this call.
        var match: UnsafeMutablePointer<UInt8>?
        let ours = TLSContext.protocols
        guard SSL_select_next_proto(&match, length, offered, count, ours, UInt32(ours.count)) == OPENSSL_NPN_NEGOTIATED
        else { return SSL_TLSEXT_ERR_ALERT_FATAL }
        chosen?.pointee = match.map { UnsafePointer($0) }
        return SSL_TLSEXT_ERR_OK
    }
}
