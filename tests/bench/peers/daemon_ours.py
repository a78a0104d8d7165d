#!/usr/bin/env python3
"""daemon_ours.py - a daemon under load, in turns; one of the contenders of sections over HTTP.

    daemon_ours.py BUILD STORE THREADS VALUE BENCH-OPTION... [--daemon OPTION...]

Each turn is one `sluicectl bench`, and VALUE the member of its JSON that counts. Client and daemon share the processors.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from contender import serve


def start(build, store, threads, scratch, options):
    port_file = scratch / "port"
    command = [build / "sluiced", "--listen", "127.0.0.1:0", "--store", store, "--state", "", "--admin-listen", ""]
    command += ["--port-file", port_file, "--log-level", "error", "--threads", threads, *options]
    daemon = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
    for _ in range(300):
        if port_file.exists() and port_file.read_text("utf-8").strip():
            return daemon, f"http://127.0.0.1:{port_file.read_text('utf-8').strip()}"
        if daemon.poll() is not None:
            break
        time.sleep(0.1)
    daemon.kill()
    sys.exit("sluiced does not start")


def main():
    build, store, threads, value, *options = sys.argv[1:]
    at = options.index("--daemon") if "--daemon" in options else len(options)
    options, of_daemon = options[:at], options[at + 1 :]
    with tempfile.TemporaryDirectory() as scratch:
        daemon, url = start(Path(build), store, threads, Path(scratch), of_daemon)

        def measure(_):
            command = [f"{build}/sluicectl", "bench", "--url", url, "--json", *options]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                sys.exit(done.stderr)
            found = json.loads(done.stdout)
            if found["failed"]:
                sys.exit(f"{found['failed']} requests failed")
            return {**found, "value": found[value]}

        try:
            serve({}, measure)
        finally:
            daemon.terminate()
            daemon.wait()


if __name__ == "__main__":
    main()
