#!/usr/bin/env python3
"""Verifies the access token of a pair as a stranger does: by the published keys alone.

    verify_pair.py PAIR.json ORIGIN [AUDIENCE]

PAIR.json is the answer of POST /auth/token. Uses PyJWT where it is installed (pip install 'pyjwt[crypto]'), otherwise
openssl, which every machine has. Prints the claims; exit status 1 when the token does not verify.
"""
import base64
import json
import subprocess
import sys
import tempfile
import time
import urllib.request


def decoded(part):
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def by_pyjwt(token, origin, audience):
    import jwt

    if jwt.get_unverified_header(token).get("typ") != "at+jwt":
        sys.exit("the token is no access token")
    key = jwt.PyJWKClient(origin + "/.well-known/jwks.json").get_signing_key_from_jwt(token)
    return jwt.decode(token, key.key, algorithms=["RS256"], audience=audience)


def by_openssl(token, origin, audience):
    header, payload, signature = token.split(".")
    head, claims = json.loads(decoded(header)), json.loads(decoded(payload))
    with urllib.request.urlopen(origin + "/.well-known/jwks.json", timeout=5) as answer:
        keys = {key["kid"]: key for key in json.load(answer)["keys"]}
    if head["typ"] != "at+jwt":
        sys.exit("the token is no access token")
    if head["alg"] != "RS256" or head["kid"] not in keys:
        sys.exit("the token's algorithm or key is not a published one")
    with tempfile.TemporaryDirectory() as folder:
        write = lambda name, data: open(f"{folder}/{name}", "wb").write(data)
        write("key.der", rsa_public_key(keys[head["kid"]]))
        write("signature", decoded(signature))
        write("input", f"{header}.{payload}".encode())
        done = subprocess.run(["openssl", "dgst", "-sha256", "-verify", f"{folder}/key.der", "-keyform", "DER",
                               "-signature", f"{folder}/signature", f"{folder}/input"], capture_output=True)
    if done.returncode != 0:
        sys.exit("the signature does not verify")
    if claims["exp"] <= time.time() or audience not in claims["aud"]:
        sys.exit("the token has expired or is for another audience")
    return claims


def rsa_public_key(jwk):
    """SubjectPublicKeyInfo of an RSA key (RFC 8017 appendix A.1.1, RFC 5280 section 4.1)."""
    def der(tag, content):
        size = len(content)
        length = bytes([size]) if size < 128 else bytes([0x80 + (size.bit_length() + 7) // 8]) + size.to_bytes((size.bit_length() + 7) // 8, "big")
        return bytes([tag]) + length + content

    numbers = b"".join(der(2, b"\0" * (value[0] >> 7) + value) for value in (decoded(jwk["n"]), decoded(jwk["e"])))
    algorithm = der(0x30, bytes.fromhex("06092a864886f70d0101010500"))
    return der(0x30, algorithm + der(3, b"\0" + der(0x30, numbers)))


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    pair = json.load(open(sys.argv[1]))
    if "access_token" not in pair:
        sys.exit(f"{sys.argv[1]} holds no pair: {pair.get('error_description', 'no access_token')}")
    audience = sys.argv[3] if len(sys.argv) == 4 else "powersync"
    try:
        import jwt  # noqa: F401
        claims, verifier = by_pyjwt(pair["access_token"], sys.argv[2], audience), "PyJWT"
    except ImportError:
        claims, verifier = by_openssl(pair["access_token"], sys.argv[2], audience), "openssl"
    print(f"verified by {verifier} for {audience}:")
    print(json.dumps(claims, indent=2))
