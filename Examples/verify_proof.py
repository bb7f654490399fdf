#!/usr/bin/env python3
"""Checks the proof of a refusal, as an app has to before it wipes or locks anything.

    verify_proof.py REFUSAL.json PAIR.json TOKEN ISSUER [LATER.json ...]

REFUSAL.json is the answer that says lock or wipe. PAIR.json is the answer of the sign-in, whose verdict_key, sid and
device_id the app has stored. TOKEN is a file with the token that was sent: the refresh token, or the session token.
LATER.json are answers of later refreshes, in their order: a verdict_key of theirs counts with a verdict_key_proof by a
key that counted before. Needs nothing but Python; exit status 1 when the refusal is not proved, and then a wipe counts
as lock.
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


class NotProved(Exception):
    """Says why, for people."""


def proved(jws, kind, keys):
    """The claims of a JWS of one kind by one of the keys."""
    try:
        head, body, signature = jws.split(".")
        header, claims = json.loads(decoded(head)), json.loads(decoded(body))
        known = header.get("alg") == "RS256" and header.get("typ") == kind and isinstance(claims, dict)
    except (AttributeError, ValueError):
        raise NotProved("there is no proof") from None
    if not known:
        raise NotProved(f"it is no {kind}")
    key = keys.get(header.get("kid"))
    if key is None:
        raise NotProved("its key was never stored")
    if not is_signed(f"{head}.{body}".encode(), decoded(signature), key):
        raise NotProved("its signature does not verify")
    return claims


def believed(pair, answers):
    """The verdict keys by their kid: that of the sign-in, and each later one that a key of these vouches for."""
    keys = {pair["verdict_key"]["kid"]: pair["verdict_key"]}
    for answer in answers:
        key = answer.get("verdict_key", {})
        # A kid that is stored keeps its key, whatever an answer says.
        if key.get("kid") in keys:
            continue
        try:
            if proved(answer.get("verdict_key_proof"), "verdict-key+jwt", keys) == key:
                keys[key["kid"]] = key
        except NotProved:
            pass
    return keys


def check(refusal, pair, token, issuer, answers=()):
    """Raises NotProved unless the refusal is proved, for this device and this token."""
    # 1 and 2. One algorithm, one type, a key that is believed, and its signature.
    claims = proved(refusal.get("proof"), "verdict+jwt", believed(pair, answers))
    # 3. It is of this server and says what the answer says.
    said = (claims.get("iss"), claims.get("reason"), claims.get("action"))
    if said != (issuer, refusal["error_reason"], refusal["client_action"]):
        raise NotProved("it says something else than the answer")
    # 4. It is about this device session, or this device.
    named = [name for name in ("sid", "device_id") if name in claims]
    if not named or any(claims[name] != pair.get(name) for name in named):
        raise NotProved("it is about another device or session")
    # 5. It answers this token, byte for byte as it was sent, and no other.
    nonce = base64.urlsafe_b64encode(hashlib.sha256(token).digest()).rstrip(b"=").decode()
    if claims.get("nonce") != nonce:
        raise NotProved("it answers another token")


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    refusal, pair, *answers = (json.load(open(path)) for path in sys.argv[1:3] + sys.argv[5:])
    try:
        check(refusal, pair, open(sys.argv[3], "rb").read(), sys.argv[4], answers)
    except NotProved as problem:
        sys.exit(f"not proved: {problem}")
    print(f"proved: {refusal['error_reason']}, {refusal['client_action']}")
