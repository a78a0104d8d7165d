#!/usr/bin/env python3
"""A long run in small: mixed traffic, swaps of versions and training jobs against one daemon.

    tests/soak/soak.py BUILD TOP MINUTES REPORT-FOLDER      or: make soak MINUTES=20

It fails when a request has no answer or another than it must have, when the daemon counts other answers than the clients,
when memory or descriptors grow, or when the daemon does not end well. The report has the figures and a plot; it judges no
speed.
"""

import collections
import http.client
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import plot

CLIENTS = 8
LEAVERS = 2
LEFT_ROUTES = ("/invocations", "/predict")  # only of clients that leave
MEMORY_GROWTH_MAX = 0.10  # from a quarter of the time to its end
MEMORY_SLACK = 32 << 20
DESCRIPTORS_SLACK = 8
ADMIN = "127.0.0.1:0"

TEXT = "A lovely film, I would watch it again."
SHORT = ["What a dull story.", "Fine.", "She sang, and they left the room at once.", TEXT]


def completion(stream):
    body = {"model": "shakespeare", "prompt": "ROMEO:\n", "max_tokens": random.randint(1, 40), "stream": stream}
    return "/v1/completions", "/v1/completions", body


def texts():
    return [[text] for text in random.choices(SHORT, k=random.randint(1, 12))]


QUESTIONS = [
    {"type": "choice", "name": "mood", "instructions": "?", "choices": [{"value": "positive"}, {"value": "negative"}]},
    {"type": "predicate", "instructions": "positive"},
]


def decision():
    return "/v1/decisions", "/v1/decisions", {"model": "sentiment", "input": TEXT, "questions": QUESTIONS}


# Each kind: its weight, the status that it must get, and what makes (path, route, body).
KINDS = {
    "completion": (4, 200, lambda: completion(False)),
    "stream": (4, 200, lambda: completion(True)),
    "predict": (6, 200, lambda: ("/models/sentiment/predict", "/models/{name}/predict", {"inputs": texts()})),
    "hf": (2, 200, lambda: ("/hf/sentiment", "/hf/{name}", {"inputs": random.choice(SHORT)})),
    "infer": (
        3,
        200,
        lambda: (
            "/v2/models/sentiment/infer",
            "/v2/models/{name}/infer",
            {"inputs": [{"name": "text", "shape": [1], "datatype": "BYTES", "data": [random.choice(SHORT)]}]},
        ),
    ),
    "decision": (2, 200, decision),
    "tokenize": (1, 200, lambda: ("/models/sentiment/tokenize", "/models/{name}/tokenize", {"inputs": TEXT})),
    "bad field": (1, 422, lambda: ("/models/sentiment/predict", "/models/{name}/predict", {"inputs": 7})),
    "bad model": (1, 404, lambda: ("/v1/completions", "/v1/completions", {"model": "absent", "prompt": "a"})),
}


class Soak:
    def __init__(self, build, top, minutes, folder):
        self.build, self.top, self.folder = pathlib.Path(build).resolve(), pathlib.Path(top).resolve(), folder
        self.seconds = minutes * 60
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="sluice-soak-"))
        self.stop = threading.Event()
        self.lock = threading.Lock()
        self.counts = collections.Counter()  # (route, status) of requests for inference
        self.failures = []
        self.left = 0
        self.latencies = []  # since the last sample
        self.samples = []
        self.swaps = collections.Counter()
        self.jobs = collections.Counter()

    # ---- the daemon

    def start(self):
        store = self.scratch / "store"
        for version in sorted((self.top / "models").glob("*/*/")):
            shutil.copytree(version, store / version.parent.name / version.name)
        # A second version of each model, to swap.
        for model in store.iterdir():
            shutil.copytree(model / "1", model / "2")
        ports = self.scratch / "ports"
        self.log = open(self.scratch / "log", "wb")
        self.daemon = subprocess.Popen(
            [self.build / "sluiced", "--listen", "127.0.0.1:0", "--admin-listen", ADMIN, "--store", store]
            + ["--state", self.scratch / "state", "--port-file", ports, "--log-level", "warn"],
            stderr=self.log,
        )
        deadline = time.time() + 60
        while not (ports.exists() and ports.read_text().count("\n") == 2):
            if self.daemon.poll() is not None or time.time() > deadline:
                sys.exit("sluiced did not start: " + (self.scratch / "log").read_text())
            time.sleep(0.05)
        self.port, self.admin_port = map(int, ports.read_text().split())

    def fail(self, what):
        with self.lock:
            self.failures.append(what)

    # ---- traffic

    def client(self, seed):
        """Sends requests one after another, on one connection as long as the daemon keeps it."""
        chance = random.Random(seed)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        names, weights = list(KINDS), [kind[0] for kind in KINDS.values()]
        number = 0
        while not self.stop.is_set():
            name = chance.choices(names, weights)[0]
            number += 1
            try:
                self.exchange(connection, name, f"soak-{seed}-{number}")
            except Exception as reason:
                self.fail(f"{name}: no answer: {reason!r}")
                connection.close()

    def exchange(self, connection, name, request_id):
        _, wanted, make = KINDS[name]
        path, route, body = make()
        began = time.monotonic()
        headers = {"Content-Type": "application/json", "x-request-id": request_id}
        connection.request("POST", path, json.dumps(body), headers)
        response = connection.getresponse()
        answer = response.read()
        elapsed = time.monotonic() - began
        with self.lock:
            self.counts[route, response.status] += 1
            self.latencies.append(elapsed)
        if response.getheader("x-request-id") != request_id:
            self.fail(f"{name}: the answer belongs to {response.getheader('x-request-id')}, not {request_id}")
        elif response.status == 429 and response.getheader("retry-after-ms"):
            time.sleep(int(response.getheader("retry-after-ms")) / 1000)
        elif response.status != wanted:
            self.fail(f"{name}: {response.status}, not {wanted}: {answer[:200]!r}")
        elif name == "stream" and (answer.count(b"[DONE]") != 1 or not answer.endswith(b"data: [DONE]\n\n")):
            self.fail(f"stream: it does not end with one [DONE]: {answer[-200:]!r}")
        elif name != "stream" and not isinstance(json.loads(answer), (dict, list)):
            self.fail(f"{name}: not JSON: {answer[:200]!r}")

    def leaver(self, seed):
        """Leaves before the answer. Only leavers use these two paths, so the others' counts stay exact."""
        chance = random.Random(seed)
        while not self.stop.is_set():
            path = chance.choice(LEFT_ROUTES) + "?model=sentiment"
            body = json.dumps({"inputs": texts()})
            request = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            cut = chance.choice([len(request) // 2, len(request) + len(body) // 2, len(request) + len(body)])
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
                    connection.sendall((request + body).encode()[:cut])
                    time.sleep(chance.random() / 100)
            except OSError as reason:
                self.fail(f"a client that leaves cannot connect: {reason!r}")
            with self.lock:
                self.left += 1
            self.stop.wait(chance.random() / 5)

    # ---- administration

    def admin(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.admin_port, timeout=120)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def swapper(self):
        """Moves `stable` between two versions, and loads and unloads the one that is not stable."""
        stable = 2
        while not self.stop.wait(1):
            for model in ("sentiment", "shakespeare"):
                other = 3 - stable
                for method, path, body in (
                    ("POST", f"/v2/repository/models/{model}/versions/{other}/load", None),
                    ("PUT", f"/v1/models/{model}/labels/stable", json.dumps({"version": other})),
                    ("POST", f"/v2/repository/models/{model}/versions/{stable}/unload", None),
                ):
                    self.swap(method, path, body)
            stable = 3 - stable

    def swap(self, method, path, body):
        try:
            status, answer = self.admin(method, path, body)
        except Exception as reason:
            self.fail(f"{method} {path}: {reason!r}")
            return
        with self.lock:
            self.swaps[path.rsplit("/", 1)[1], status] += 1
        if status != 200:
            self.fail(f"{method} {path}: {status}: {answer[:200]!r}")

    def trainer(self):
        """Trains one small model after another, where the daemon has the API."""
        try:
            if b"/v1/fine_tuning/jobs" not in self.admin("GET", "/")[1]:
                return
            lines = "".join(f"positive\tA lovely film {i}.\nnegative\tA dull film {i}.\n" for i in range(200))
            form = 'Content-Disposition: form-data; name="'
            parts = f'--soak\r\n{form}purpose"\r\n\r\nfine-tune\r\n--soak\r\n{form}file"; filename="a.tsv"\r\n\r\n{lines}\r\n--soak--\r\n'
            kind = {"Content-Type": "multipart/form-data; boundary=soak"}
            status, answer = self.admin("POST", "/v1/files", parts, kind)
            if status != 200:
                self.fail(f"upload: {status}: {answer[:200]!r}")
                return
            file_id = json.loads(answer)["id"]
            while not self.stop.is_set():
                self.train(file_id)
                self.stop.wait(5)
        except Exception as reason:
            self.fail(f"training: {reason!r}")

    def train(self, file_id):
        parameters = {"label": "1", "text": "2", "n_epochs": 40, "batch_size": 8, "width": 32, "depth": 1, "heads": 2}
        parameters |= {"ffn_width": 64, "context_length": 32}
        body = {"model": "encoder", "training_file": file_id, "suffix": "soaked"}
        body["method"] = {"type": "supervised", "supervised": {"hyperparameters": parameters}}
        kind = {"Content-Type": "application/json"}
        status, answer = self.admin("POST", "/v1/fine_tuning/jobs", json.dumps(body), kind)
        if status != 200:
            self.fail(f"job: {status}: {answer[:200]!r}")
            return
        job = json.loads(answer)
        while job["status"] not in ("succeeded", "failed", "cancelled") and not self.stop.wait(1):
            job = json.loads(self.admin("GET", f"/v1/fine_tuning/jobs/{job['id']}")[1])
        with self.lock:
            self.jobs[job["status"]] += 1
        if job["status"] in ("failed", "cancelled"):
            self.fail(f"a job {job['status']}: {job.get('error')}")
        if job["status"] == "succeeded" and not job["fine_tuned_model"].endswith("@1"):
            model, version = job["fine_tuned_model"].split("@")  # loaded, and served to those who name it
            self.swap("POST", f"/v2/repository/models/{model}/versions/{version}/unload", None)

    # ---- what is measured

    def metrics(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
        connection.close()
        found = {}
        for line in lines:
            if not line.startswith("#"):
                series, value = line.rsplit(" ", 1)
                found[series] = float(value)
        return found

    def sample(self, began):
        found = self.metrics()
        with self.lock:
            latencies, self.latencies = sorted(self.latencies), []
        count = len(latencies)
        self.samples.append(
            {
                "seconds": time.monotonic() - began,
                "memory": found["process_resident_memory_bytes"],
                "descriptors": found["process_open_fds"],
                "requests": count,
                "p50": latencies[count // 2] if count else 0,
                "p99": latencies[min(count - 1, count * 99 // 100)] if count else 0,
            }
        )

    def run(self):
        self.start()
        idle = self.metrics()["process_open_fds"]
        threads = [threading.Thread(target=self.client, args=(seed,)) for seed in range(CLIENTS)]
        threads += [threading.Thread(target=self.leaver, args=(100 + seed,)) for seed in range(LEAVERS)]
        threads += [threading.Thread(target=self.swapper), threading.Thread(target=self.trainer)]
        for thread in threads:
            thread.start()
        began = time.monotonic()
        step = max(1, self.seconds / 120)
        while time.monotonic() - began < self.seconds and self.daemon.poll() is None:
            time.sleep(step)
            if self.daemon.poll() is None:
                self.sample(began)
        self.stop.set()
        for thread in threads:
            thread.join()
        if self.daemon.poll() is not None:
            self.fail(f"the daemon ended with {self.daemon.returncode}: " + (self.scratch / "log").read_text()[-2000:])
        else:
            self.settle(idle)
            self.daemon.send_signal(signal.SIGTERM)
            if self.daemon.wait(120) != 0:
                self.fail(f"the daemon ended with {self.daemon.returncode}")

    def settle(self, idle):
        """All clients are gone: what the daemon counted is what they saw, and nothing is left open."""
        deadline = time.monotonic() + 90  # half a request is waited for
        found = self.metrics()
        while found["sluice_requests_in_flight"] + found["sluice_http_connections"] > 1 and time.monotonic() < deadline:
            time.sleep(0.2)
            found = self.metrics()
        routes = {make()[1] for _, _, make in KINDS.values()}
        counted, leavers = {}, 0
        for series, value in found.items():
            if series.startswith("http_requests_total{"):
                labels = dict(part.split('="') for part in series[series.index("{") + 1 : -2].split('",'))
                if labels["handler"] in routes:
                    counted[labels["handler"], int(labels["status"])] = int(value)
                elif labels["handler"] in LEFT_ROUTES:
                    leavers += int(value)
        if counted != dict(self.counts):
            self.fail(f"the daemon counted {counted}, the clients {dict(self.counts)}")
        if leavers > self.left:
            self.fail(f"the daemon counted {leavers} responses to clients that left, who were {self.left}")
        if found["sluice_requests_in_flight"] != 0:
            self.fail(f"{found['sluice_requests_in_flight']:.0f} requests are still in progress")
        self.check_growth(idle, found)

    def check_growth(self, idle, found):
        self.descriptors = idle, found["process_open_fds"]
        if found["process_open_fds"] > idle + DESCRIPTORS_SLACK:
            self.fail(f"descriptors grew from {idle:.0f} to {found['process_open_fds']:.0f}")
        if len(self.samples) < 8:
            self.fail(f"only {len(self.samples)} samples were taken")
            return
        quarter = len(self.samples) // 4
        first = max(sample["memory"] for sample in self.samples[quarter : 2 * quarter])
        last = max(sample["memory"] for sample in self.samples[-quarter:])
        self.memory = first, last
        if last > first * (1 + MEMORY_GROWTH_MAX) + MEMORY_SLACK:
            self.fail(f"memory grew from {first / 2**20:.0f} to {last / 2**20:.0f} MiB")

    # ---- the report

    def report(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        minutes = [sample["seconds"] / 60 for sample in self.samples]
        panels = [
            ("resident memory (MiB)", [("", [sample["memory"] / 2**20 for sample in self.samples])]),
            ("file descriptors", [("", [sample["descriptors"] for sample in self.samples])]),
            (
                "latency (ms)",
                [(name, [1000 * sample[name] for sample in self.samples]) for name in ("p50", "p99")],
            ),
        ]
        (self.folder / "soak.svg").write_text(plot.draw(minutes, "minutes", panels))
        (self.folder / "soak.md").write_text("\n".join(self.lines()) + "\n")

    def lines(self):
        half = len(self.samples) // 2
        yield "# Soak\n"
        yield f"{self.seconds / 60:g} minutes, {CLIENTS} clients and {LEAVERS} that leave, "
        yield f"{sum(self.counts.values())} requests answered, {self.left} abandoned. "
        yield f"{time.strftime('%Y-%m-%d', time.gmtime())}, {os.cpu_count()} processors.\n"
        yield "![memory, descriptors and latency over time](soak.svg)\n"
        yield "| route | status | requests |\n|---|---|---|"
        for (route, status), count in sorted(self.counts.items()):
            yield f"| `{route}` | {status} | {count} |"
        yield ""
        yield "| | |\n|---|---|"
        for (what, status), count in sorted(self.swaps.items()):
            yield f"| {what}: {status} | {count} |"
        for status, count in sorted(self.jobs.items()):
            yield f"| jobs: {status} | {count} |"
        if hasattr(self, "memory"):
            yield f"| memory, highest of the second and of the last quarter | {self.memory[0] / 2**20:.0f} MiB, {self.memory[1] / 2**20:.0f} MiB |"
        if hasattr(self, "descriptors"):
            yield f"| descriptors before and after | {self.descriptors[0]:.0f}, {self.descriptors[1]:.0f} |"
        for name, part in (("first half", self.samples[:half]), ("second half", self.samples[half:])):
            if part:
                worst = sorted(1000 * sample["p99"] for sample in part)
                yield f"| p99 in the {name}: median, highest | {worst[len(worst) // 2]:.0f} ms, {worst[-1]:.0f} ms |"
        yield ""
        if not self.failures:
            yield "Every request had one answer, the daemon counted what the clients saw, memory and descriptors are flat."
        else:
            yield f"{len(self.failures)} failures; the first:\n"
            for failure in self.failures[:20]:
                yield f"- {failure}"


def main():
    build, top, minutes, folder = sys.argv[1:5]
    soak = Soak(build, top, float(minutes), pathlib.Path(folder))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("soak: terminated"))
    try:
        soak.run()
    finally:
        soak.stop.set()
        if soak.daemon.poll() is None:
            soak.daemon.kill()
        soak.report()
        shutil.rmtree(soak.scratch)
    print((pathlib.Path(folder) / "soak.md").read_text())
    sys.exit(1 if soak.failures else 0)


if __name__ == "__main__":
    main()
