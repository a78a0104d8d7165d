"""contender.py - who is timed: a program that waits until it is its turn.

A contender loads a model, computes what it computes once, and prints a line of JSON. Then it reads lines, each a
number of seconds, measures for so long, and answers with a line of JSON, such as {"value": 12.3}. So all contenders of a
row are loaded at the same time, but only one computes.
"""

import json
import signal
import subprocess
import time
from dataclasses import dataclass, field

PATIENCE = 10  # seconds for one to end by itself
REST = 0.15  # seconds between turns, until threads that spin have fallen asleep


class Failed(Exception):
    pass


@dataclass
class Contender:
    who: str  # the software
    how: str  # the precision, and what else was chosen
    command: list
    against: str = ""  # of one of ours: nothing; of a peer: which of ours it is compared with
    start: dict = field(default_factory=dict)  # its first line
    process: subprocess.Popen = None

    @property
    def name(self):
        return f"{self.who} {self.how}"

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise Failed(self.ending())
        try:
            return json.loads(line)
        except ValueError:
            raise Failed(f"{self.name}: printed no JSON: {line.strip()}") from None

    def ending(self):
        status = self.process.wait()
        if status < 0:  # what it last said is not why
            return f"{self.name}: ended by {signal.Signals(-status).name}"
        return f"{self.name}: ended with {status}: {self.errors()}"

    def errors(self):
        self.log.seek(0)
        return self.log.read()[-2000:].strip()

    def open(self, log):
        self.log = open(log, "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [str(word) for word in self.command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
        )
        self.start = self.answer()

    def turn(self, seconds):
        time.sleep(REST)
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self):
        """Closed input is the end of its turns: it stops what it has started, such as a daemon."""
        if self.process:
            self.process.stdin.close()
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process.stdout.close()
            self.log.close()
            self.process = None


def serve(first, measure):
    """The other side, in Python: says what it is, then measures whenever it is asked to."""
    print(json.dumps(first), flush=True)
    while True:
        try:
            line = input()
        except EOFError:
            return
        print(json.dumps(measure(float(line))), flush=True)


def fastest(run, seconds):
    """Milliseconds of the fastest run that begins in this time, after one that is not counted."""
    run()
    end, best = time.perf_counter() + seconds, float("inf")
    while True:
        begun = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - begun)
        if time.perf_counter() >= end:
            return 1e3 * best
