/* libcrypto and libssl as Swift sees them. Macro-only names get a static inline twin here. */
#ifndef SALLYPORT_COPENSSL_H
#define SALLYPORT_COPENSSL_H

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

/* The selection is a sum of macros that the importer does not evaluate. */
static const int sallyport_evp_public_key = EVP_PKEY_PUBLIC_KEY;

/* Options are made by a macro with an argument, which the importer does not evaluate. */
static const uint64_t sallyport_ssl_server_options = SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                                     SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA |
                                                     SSL_OP_IGNORE_UNEXPECTED_EOF;

/* Frees the record buffers of a connection at rest; says what was written of a long buffer. */
static inline void sallyport_ssl_ctx_set_modes(SSL_CTX *context)
{
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(context, 1);
}

/* 1 when all of it is taken. */
static inline int sallyport_ssl_ctx_set_protocols(SSL_CTX *context, const char *ciphers, const char *groups)
{
    return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
           SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) == 1 &&
           SSL_CTX_set_cipher_list(context, ciphers) == 1 && SSL_CTX_set1_groups_list(context, groups) == 1;
}

static inline void sallyport_ssl_ctx_set_tickets_only(SSL_CTX *context)
{
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}

/* The context takes a reference of its own. */
static inline int sallyport_ssl_ctx_add_chain(SSL_CTX *context, X509 *certificate)
{
    return (int)SSL_CTX_add1_chain_cert(context, certificate);
}

static inline void sallyport_bio_clear_retry(BIO *bio) { BIO_clear_retry_flags(bio); }
static inline void sallyport_bio_set_retry_read(BIO *bio) { BIO_set_retry_read(bio); }
static inline void sallyport_bio_set_retry_write(BIO *bio) { BIO_set_retry_write(bio); }

#endif
