/* libcrypto and libssl as Swift sees them. Macro-only names get a static inline twin here. */
#ifndef SALLYPORT_COPENSSL_H
#define SALLYPORT_COPENSSL_H

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/param_build.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

/* The selection is a sum of macros that the importer does not evaluate. */
static const int sallyport_evp_public_key = EVP_PKEY_PUBLIC_KEY;

#endif
