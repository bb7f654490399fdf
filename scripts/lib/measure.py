"""Measures `sallyport dev` over loopback; called by scripts/measure, which says what is measured.

What is counted is counted between two moments after the start, so that start and end of the process fall out.
"""

import argparse
import contextlib
import glob
import os
import re
import resource
import signal
import socket
import statistics
import struct
import subprocess
import tempfile
import time

PORT = 18080
REQUEST = b"GET /.well-known/jwks.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


class Unready(Exception):
    """Another answer than 200, as long as the server starts."""


def connect():
    return socket.create_connection(("127.0.0.1", PORT), timeout=120)


def ask(connection):
    """One request on a connection that stays open."""
    connection.sendall(REQUEST)
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += connection.recv(65536) or fail("the server closed the connection")
    head, _, body = answer.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200 "):
        raise Unready(head.split(b"\r\n")[0].decode())
    length = int(re.search(rb"(?i)\r\ncontent-length: (\d+)", head)[1])
    while len(body) < length:
        body += connection.recv(65536) or fail("the answer was cut")


def fail(reason):
    raise SystemExit(f"error: {reason}")


@contextlib.contextmanager
def server(command, environment=None):
    """A development server in a folder of its own: yields its process id."""
    with tempfile.TemporaryDirectory() as folder, open(f"{folder}/log", "w") as log:
        process = subprocess.Popen(
            [*command, "dev"], cwd=folder, stdout=log, stderr=log,
            env={**os.environ, "SALLYPORT_LISTEN": f"127.0.0.1:{PORT}", **(environment or {})})
        try:
            for _ in range(1200):
                if process.poll() is not None:
                    fail(open(f"{folder}/log").read())
                with contextlib.suppress(OSError, Unready), connect() as first:
                    ask(first)
                    break
                time.sleep(0.1)
            yield process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def cpu_seconds(pid):
    """User and system time of all threads, from the scheduler's own count in nanoseconds."""
    return sum(int(open(path).read().split()[0]) for path in glob.glob(f"/proc/{pid}/task/*/schedstat")) / 1e9


def measure_time(binary, requests):
    with server([binary]) as pid, connect() as connection:
        for _ in range(1000):
            ask(connection)
        ticks = os.sysconf("SC_CLK_TCK")

        def split():
            fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
            return int(fields[11]) / ticks, int(fields[12]) / ticks

        before, (user, system) = cpu_seconds(pid), split()
        for _ in range(requests):
            ask(connection)
        spent = cpu_seconds(pid) - before
        share = [after - start for after, start in zip(split(), (user, system))]
    print(f"CPU time per request: {spent / requests * 1e6:.1f} us "
          f"(user {share[0] / requests * 1e6:.1f}, system {share[1] / requests * 1e6:.1f}; {requests} requests, one connection)")


def measure_instructions(binary, requests):
    with tempfile.TemporaryDirectory() as folder:
        # Valgrind does not read the compiler's debugging information.
        stripped, output = f"{folder}/sallyport", f"{folder}/callgrind.out"
        subprocess.run(["strip", "-g", "-o", stripped, binary], check=True)
        valgrind = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={output}", stripped]
        with server(valgrind) as pid, connect() as connection:
            for _ in range(500):
                ask(connection)
            # The start, which makes keys, costs many times what is measured.
            for switch in ("on", "off"):
                subprocess.run(["callgrind_control", "-i", switch, str(pid)], check=True, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
                for _ in range(requests if switch == "on" else 0):
                    ask(connection)
        total = int(re.search(r"^totals: (\d+)", open(output).read(), re.M)[1])
    print(f"user-space instructions per request: {total / requests:.0f} (callgrind, {requests} requests)")


def measure_heap(binary, preload, connections):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + 500
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, max(hard, wanted)))
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/counts"
        environment = {
            "LD_PRELOAD": os.path.abspath(preload), "MALLOC_COUNT_FILE": path, "MALLOC_COUNT_PROGRAM": "sallyport"}
        with server([binary], environment) as pid, connect() as connection:

            def counts():
                return struct.unpack("3q", open(path, "rb").read(24))

            def resident():
                return int(re.search(r"RssAnon:\s+(\d+)", open(f"/proc/{pid}/status").read())[1]) * 1024

            def latency():
                times = []
                for _ in range(300):
                    start = time.perf_counter()
                    ask(connection)
                    times.append((time.perf_counter() - start) * 1e3)
                return statistics.median(times), statistics.quantiles(times, n=100)[98]

            for _ in range(1000):
                ask(connection)
            before = counts()
            for _ in range(4000):
                ask(connection)
            print(f"allocations per request: {(counts()[0] - before[0]) / 4000:.2f} (4000 requests)")

            alone, before, resident_before = latency(), counts(), resident()
            idle = [connect() for _ in range(connections)]
            for other in idle:
                ask(other)
            time.sleep(3)  # until they rest
            after, resident_after = counts(), resident()
            print(f"heap per connection at rest: {(after[2] - before[2]) / connections:.0f} bytes in blocks, "
                  f"{(resident_after - resident_before) / connections:.0f} bytes of memory ({connections} connections)")
            beside = latency()
            print(f"latency of one honest client, median and p99: {alone[0]:.3f} and {alone[1]:.3f} ms alone, "
                  f"{beside[0]:.3f} and {beside[1]:.3f} ms beside them")
            for other in idle:
                other.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="scripts/measure")
    parser.add_argument("binary")
    parser.add_argument("preload")
    parser.add_argument("--connections", type=int, default=10_000)
    arguments = parser.parse_args()
    binary = os.path.abspath(arguments.binary)
    measure_time(binary, 20_000)
    measure_heap(binary, arguments.preload, arguments.connections)
    measure_instructions(binary, 4000)
