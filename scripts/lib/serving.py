"""A production server for the scripts that measure: `sallyport serve` on a database of its own.

The database lies in the cluster of a `sallyport dev` that does nothing else meanwhile.
"""

import base64
import contextlib
import hmac
import http.client
import json
import os
import re
import secrets
import signal
import socket
import subprocess
import tempfile
import time
import urllib.parse

KEY_SET = "/.well-known/jwks.json"
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
IDENTITY_SECRET = "the-identity-secret-of-this-measurement"


def fail(reason):
    raise SystemExit(f"error: {reason}")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def pinned(cores, command):
    """The command on some cores alone, e.g. "0" or "0,1"."""
    return ["taskset", "--cpu-list", cores, *command] if cores else command


@contextlib.contextmanager
def ending(process, patience=60):
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(patience)


def wait_for(process, log, attempt, what):
    for _ in range(1200):
        if process.poll() is not None:
            fail(f"{what} has ended: {open(log).read()[-2000:]}")
        with contextlib.suppress(OSError, http.client.HTTPException):
            found = attempt()
            if found:
                return found
        time.sleep(0.1)
    fail(f"{what} does not start: {open(log).read()[-2000:]}")


class Deployment:
    """A migrated database, the settings of a server on it, and the means to start one."""

    def __init__(self, binary, folder, database_url, cores):
        self.binary, self.folder, self.database_url, self.cores = binary, folder, database_url, cores
        self.kek = base64.b64encode(secrets.token_bytes(32)).decode()

    def sql(self, text):
        subprocess.run(["psql", "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", self.database_url],
                       input=text, text=True, check=True, stdout=subprocess.DEVNULL)

    @contextlib.contextmanager
    def server(self, cores=None, workers=1, wrapper=(), environment=None, scheme="http"):
        """Yields its process and its port. The access log goes to a file, as a service's does."""
        port = free_port()
        log = f"{self.folder}/serve.log"
        settings = {
            "SALLYPORT_DATABASE_URL": self.database_url, "SALLYPORT_ISSUER": f"{scheme}://127.0.0.1:{port}",
            "SALLYPORT_LISTEN": f"127.0.0.1:{port}", "SALLYPORT_KEK": self.kek, "SALLYPORT_WORKERS": str(workers),
            "SALLYPORT_IDENTITY_SECRETS": IDENTITY_SECRET, "SALLYPORT_RATE_LIMIT": "off", **(environment or {})}
        with open(log, "w") as output:
            process = subprocess.Popen(
                pinned(cores or self.cores, [*wrapper, self.binary, "serve"]), stdout=output, stderr=output,
                env={**os.environ, **settings})
        with ending(process):
            wait_for(process, log, lambda: '"ready"' in open(log).read(), "the server")
            yield process, port

    def sessions(self, count):
        """So many sessions of as many users of the identity store; their tokens, signed."""
        tokens = [secrets.token_urlsafe(24) for _ in range(count)]
        rows = "".join(
            f"""INSERT INTO public."user" ("id", "name", "email", "emailVerified", "createdAt", "updatedAt")
                VALUES ('{token}', 'Bench', '{token}@example.com', true, now(), now());
                INSERT INTO public."session" ("id", "expiresAt", "token", "createdAt", "updatedAt", "userId")
                VALUES ('{token}', now() + interval '7 days', '{token}', now(), now(), '{token}');"""
            for token in tokens)
        self.sql(rows)

        def signature(token):
            return base64.b64encode(hmac.digest(IDENTITY_SECRET.encode(), token.encode(), "sha256")).decode()

        return [f"{token}.{signature(token)}" for token in tokens]


@contextlib.contextmanager
def deployment(binary, cores=None):
    """A fresh deployment, gone when the block ends."""
    with tempfile.TemporaryDirectory() as folder:
        log = f"{folder}/dev.log"
        environment = {**os.environ, "SALLYPORT_LISTEN": "127.0.0.1:0", "SALLYPORT_WORKERS": "1"}
        with open(log, "w") as output:
            process = subprocess.Popen(
                pinned(cores, [binary, "dev"]), cwd=folder, stdout=output, stderr=output, env=environment)
        data = None
        try:
            with ending(process):
                url = wait_for(
                    process, log, lambda: re.search(r"SALLYPORT_DATABASE_URL='([^']+)'", open(log).read()),
                    "the cluster")[1]
                data = re.search(r"PostgreSQL's data is in (\S+)", open(log).read())[1]
                subprocess.run(["psql", "--quiet", url, "--command", "CREATE DATABASE bench"], check=True)
                url = url.rsplit("/", 1)[0] + "/bench"
                subprocess.run(
                    [binary, "migrate", "--standalone"], check=True, stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL, env={**os.environ, "SALLYPORT_DATABASE_URL": url})
                yield Deployment(binary, folder, url, cores)
        finally:
            # In a folder of its own where the database's user cannot enter ours.
            if data and data.startswith("/var/tmp/sallyport"):
                subprocess.run(["rm", "-rf", data], check=False)


def pair(port, session, device, tls=None):
    """The answer to an exchange of a session on a new device."""
    kind = http.client.HTTPSConnection if tls else http.client.HTTPConnection
    connection = kind("127.0.0.1", port, timeout=30, **({"context": tls} if tls else {}))
    connection.request("POST", "/auth/token", urllib.parse.urlencode({
        "grant_type": EXCHANGE, "subject_token_type": "urn:sallyport:token-type:session", "subject_token": session,
        "device_id": device, "device_platform": "ios"}), {"Content-Type": "application/x-www-form-urlencoded"})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    if answer.status != 200:
        fail(f"the exchange was refused: {answer.status} {body.decode()}")
    return json.loads(body)
