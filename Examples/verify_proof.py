#!/usr/bin/env python3
"""Checks the proof of a refusal, as an app has to before it wipes or locks anything.

    verify_proof.py REFUSAL.json PAIR.json TOKEN ISSUER

REFUSAL.json is the answer that says lock or wipe, PAIR.json the answer of the sign-in, whose verdict_key the app has
stored, TOKEN a file with the token that was sent: the refresh token, or the session token. Needs nothing but Python;
exit status 1 when the refusal is not proved, and then a wipe counts as lock.
"""
import base64
import hashlib
import json
import sys


def decoded(part):
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def is_signed(message, signature, key):
    """RSASSA-PKCS1-v1_5 with SHA-256: RFC 8017 section 8.2.2."""
    n, e = (int.from_bytes(decoded(key[name]), "big") for name in ("n", "e"))
    size = (n.bit_length() + 7) // 8
    if len(signature) != size or int.from_bytes(signature, "big") >= n:
        return False
    digest = bytes.fromhex("3031300d060960864801650304020105000420") + hashlib.sha256(message).digest()
    expected = b"\0\1" + b"\xff" * (size - len(digest) - 3) + b"\0" + digest
    return pow(int.from_bytes(signature, "big"), e, n).to_bytes(size, "big") == expected


def problem(refusal, keys, token, issuer):
    """What is wrong with the proof, None when it holds."""
    parts = refusal.get("proof", "").split(".")
    if len(parts) != 3:
        return "there is no proof"
    head, claims = json.loads(decoded(parts[0])), json.loads(decoded(parts[1]))
    # 1. The header: one algorithm, one type, a key that was stored at a sign-in.
    if (head.get("alg"), head.get("typ")) != ("RS256", "verdict+jwt"):
        return "it is no verdict"
    key = next((key for key in keys if key["kid"] == head.get("kid")), None)
    if key is None:
        return "its key was never stored"
    # 2. The signature.
    if not is_signed(f"{parts[0]}.{parts[1]}".encode(), decoded(parts[2]), key):
        return "its signature does not verify"
    # 3. It is of this server and says what the answer says.
    said = (claims.get("iss"), claims.get("reason"), claims.get("action"))
    if said != (issuer, refusal["error_reason"], refusal["client_action"]):
        return "it says something else than the answer"
    # 4. It answers this token, byte for byte as it was sent, and no other.
    nonce = base64.urlsafe_b64encode(hashlib.sha256(token).digest()).rstrip(b"=").decode()
    return None if claims.get("nonce") == nonce else "it answers another token"


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    refusal, pair = (json.load(open(path)) for path in sys.argv[1:3])
    found = problem(refusal, [pair["verdict_key"]], open(sys.argv[3], "rb").read(), sys.argv[4])
    if found:
        sys.exit(f"not proved: {found}")
    print(f"proved: {refusal['error_reason']}, {refusal['client_action']}")
