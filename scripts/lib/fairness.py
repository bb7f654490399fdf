"""Measures refreshes beside other clients; called by scripts/bench, which says what is measured.

The server and its database share the first core, the clients have the second. With two loops all share both.
"""

import argparse
import base64
import contextlib
import hashlib
import json
import os
import re
import ssl
import subprocess
import time
import urllib.request

import serving

CLIENTS = 16
FOLDER = os.path.dirname(os.path.abspath(__file__))
SECRET = "the-secret-of-this-bench"
BASIC = "Basic " + base64.b64encode(f"bench:{SECRET}".encode()).decode()


class Load:
    """Clients beside the refreshes: their name, how many connections they hold, and what they ask."""

    def __init__(self, name, connections=0, kind="plain", scheme="http"):
        self.name, self.connections, self.kind, self.scheme = name, connections, kind, scheme


ONE_LOOP = [
    Load("alone"),
    Load("256 readers", 256),
    Load("1000 readers", 1000),
    Load("64 pipelining readers", 64, "pipelined"),
    Load("64 senders of tiny chunks", 64, "chunked"),
    Load("64 introspecting", 64, "introspecting"),
    Load("256 long polls", 256, "waiting"),
    Load("64 connecting anew", 64, "connecting"),
    Load("alone, TLS", scheme="https"),
    Load("256 readers, TLS", 256, scheme="https"),
    Load("64 connecting anew, TLS", 64, "connecting", scheme="https"),
]
TWO_LOOPS = [Load("alone"), Load("256 readers", 256), Load("1000 readers", 1000)]


class Result:
    """Counts of one wrk: `rate` a second, milliseconds."""

    def __init__(self, output, word):
        found = re.search(rf"^{word} (\d+) (\d+) (\S+) (\S+) (\d+)$", output, re.M) or serving.fail(output)
        count, microseconds, p50, p99, self.failures = (int(float(text)) for text in found.groups())
        self.rate, self.p50, self.p99 = count / (microseconds / 1e6), p50 / 1e3, p99 / 1e3


def wrk(cores, threads, connections, seconds, origin, script, *arguments):
    command = ["wrk", "--threads", str(threads), "--connections", str(connections), "--duration", f"{seconds}s",
               "--timeout", "10s", "--latency", "--script", f"{FOLDER}/{script}", origin, "--", *arguments]
    return subprocess.Popen(serving.pinned(cores, command), stdout=subprocess.PIPE, text=True)


def certificate(folder):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-subj", "/CN=127.0.0.1", "-keyout", f"{folder}/key.pem", "-out", f"{folder}/cert.pem"],
        check=True, stderr=subprocess.DEVNULL)
    return {"SALLYPORT_TLS_CERT_FILE": f"{folder}/cert.pem", "SALLYPORT_TLS_KEY_FILE": f"{folder}/key.pem"}


class Bench:
    def __init__(self, deployment, port, scheme, cores, seconds):
        self.folder, self.cores, self.seconds = deployment.folder, cores, seconds
        self.origin = f"{scheme}://127.0.0.1:{port}"
        self.tls = tls = ssl._create_unverified_context() if scheme == "https" else None
        pairs = [serving.pair(port, session, f"bench-{session.partition('.')[0]}", tls) for session in deployment.sessions(CLIENTS)]
        self.access = pairs[0]["access_token"]
        self.refreshing = [pair["refresh_token"] for pair in pairs]

    def cursor(self):
        """Behind which a reader of the revocation feed has to wait."""
        request = urllib.request.Request(f"{self.origin}/auth/revocations", headers={"Authorization": BASIC})
        with urllib.request.urlopen(request, context=self.tls) as answer:
            return json.load(answer)["cursor"]

    def measure(self, load):
        """Refreshes beside a load, and the load's own figures."""
        tokens = f"{self.folder}/tokens"
        with open(tokens, "w") as file:
            file.write("\n".join(self.refreshing))
        beside = None
        if load.connections:
            beside = wrk(self.cores, 1, load.connections, self.seconds + 2, self.origin, "readers.lua",
                         load.kind, BASIC, self.access, self.cursor())
            time.sleep(1)
        refreshes = wrk(self.cores, CLIENTS, CLIENTS, self.seconds, self.origin, "refresh.lua", tokens)
        result = Result(refreshes.communicate()[0], "refreshes")
        return result, Result(beside.communicate()[0], "reads") if beside else None


def row(load, loops, result, reads, alone):
    share = f"{result.rate / alone.rate:4.0%}" if alone else ""
    times = f"{result.p99 / alone.p99:.1f}x" if alone else ""
    others = f"{reads.rate:9.0f} {reads.p50:8.1f} {reads.p99:8.1f}" if reads else ""
    failed = f"  {result.failures} failed" if result.failures else ""
    print(f"{load.name:26} {loops:5} {result.rate:9.0f} {share:>6} {result.p50:8.1f} {result.p99:8.1f} {times:>6} "
          f"{others}{failed}", flush=True)


def run(deployment, loads, workers, seconds, only):
    server_cores, client_cores = ("0", "1") if workers == 1 else (None, None)
    for scheme in ("http", "https"):
        wanted = [load for load in loads if load.scheme == scheme]
        if only:
            wanted = [load for load in wanted if load.name in only or not load.connections]
        if not any(load.connections for load in wanted):
            continue
        settings = certificate(deployment.folder) if scheme == "https" else {}
        settings["SALLYPORT_RESOURCE_SERVERS"] = "bench:" + hashlib.sha256(SECRET.encode()).hexdigest()
        with deployment.server(server_cores, workers, environment=settings, scheme=scheme) as (_, port):
            alone = None
            for load in wanted:
                # Pairs of its own: a load that was cut off may have left an answer unread.
                result, reads = Bench(deployment, port, scheme, client_cores, seconds).measure(load)
                row(load, workers, result, reads, alone)
                alone = alone or result


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="scripts/bench fairness")
    parser.add_argument("binary")
    parser.add_argument("--seconds", type=int, default=6)
    parser.add_argument("--only", type=lambda text: text.split(","), help="names of loads, in place of all of them")
    arguments = parser.parse_args()
    binary = os.path.abspath(arguments.binary)
    print(f"load average before: {os.getloadavg()[0]:.2f}; {CLIENTS} clients refresh")
    print(f"{'refreshes':26} {'loops':>5} {'a second':>9} {'share':>6} {'p50 ms':>8} {'p99 ms':>8} {'times':>6} "
          f"{'reads/s':>9} {'p50 ms':>8} {'p99 ms':>8}")
    for workers, loads in ((1, ONE_LOOP), (2, TWO_LOOPS)):
        with contextlib.ExitStack() as stack:
            deployment = stack.enter_context(serving.deployment(binary, "0" if workers == 1 else None))
            run(deployment, loads, workers, arguments.seconds, arguments.only)
