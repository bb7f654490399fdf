#!/usr/bin/env python3
"""Writes the seed corpus of one fuzz target, from the fixtures of the tests.

usage: fuzz-seeds.py TARGET FOLDER
"""
import glob, hashlib, json, os, sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Tests")


def http_cases():
    for path in glob.glob(os.path.join(ROOT, "HTTPTests/Fixtures/*.json")):
        for case in json.load(open(path))["cases"]:
            steps = case["raw"] if isinstance(case["raw"], list) else [case["raw"]]
            stream = b""
            for step in steps:
                if isinstance(step, str):
                    stream += step.encode("latin-1")
                elif "repeat" in step:
                    stream += step["repeat"].encode("latin-1") * min(step["times"], 200)
                elif "bytewise" in step:
                    stream += step["bytewise"].encode("latin-1")
            yield stream


def texts(value):
    """Every text of a JSON document, and every object as text."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)
    elif isinstance(value, dict):
        yield json.dumps(value)
        for item in value.values():
            yield from texts(item)


def jose_texts():
    for path in glob.glob(os.path.join(ROOT, "JOSETests/Fixtures/*/*.json")):
        yield from texts(json.load(open(path)))


def seeds(target):
    if target == "request":
        yield from http_cases()
    elif target == "chunks":
        for stream in http_cases():
            head, gap, body = stream.partition(b"\r\n\r\n")
            if gap and b"hunked" in head:
                yield body
    elif target == "form":
        yield b"grant_type=refresh_token&refresh_token=a.b.c&scope=api+sync&x=%C3%A9&y&=z&&"
        yield b"a=%2g&b=%ff"
    elif target == "json":
        yield from (text.encode() for text in jose_texts() if text[:1] in "{[\"")
        yield b'{"a":[1,-0,1.5e3,true,null,"\\ud83d\\ude00\\u2028"],"b":{}}'
    elif target == "jws":
        yield from (text.encode() for text in jose_texts() if text.count(".") == 2 and text.startswith("ey"))
    elif target == "jwks":
        yield from (text.encode() for text in jose_texts() if text.startswith("{") and '"keys"' in text)
        yield from (b'{"keys":[' + text.encode() + b"]}" for text in jose_texts() if '"kty"' in text and '"keys"' not in text)
    else:
        sys.exit(f"there is no target {target}")


target, folder = sys.argv[1:]
os.makedirs(folder, exist_ok=True)
for seed in set(seeds(target)):
    if len(seed) <= 8192:
        with open(os.path.join(folder, hashlib.sha1(seed).hexdigest()), "wb") as file:
            file.write(seed)
