#!/usr/bin/env python3
"""Measures Sluice beside other software, in turns, on this machine: `make bench-peers`.

    run.py [--only SECTION ...] [--build build/release] [--output build/bench/peers.json]

A row is written to the output as soon as it is measured, and not measured again, so a run can be interrupted and
continued; --again starts over. The peers are installed from PyPI, in the versions of requirements.txt, into a virtual
environment beside the output.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

import classify
import completions
import decoders
import encoders
import encoders_http
import forward
import length
import machine
import products
import report
import sparse
import train
from results import Results, add_ratios

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[2]
SECTIONS = {section.NAME: section for section in (
    forward, train, sparse, completions, classify, encoders, encoders_http, decoders, length, products,
)}


FIELDS = ("TITLE", "ABOUT", "UNIT", "BETTER", "PLOT", "AXES")  # of a section, that a report needs


class Setup:
    """What all sections need."""

    def __init__(self, options):
        self.here, self.top, self.build = HERE, TOP, options.build.resolve()
        self.cache = options.output.resolve().parent / "cache"
        self.cache.mkdir(parents=True, exist_ok=True)
        self.environment = options.output.resolve().parent / "venv"
        self.python = self.environment / "bin/python"
        self.threads, self.seconds = options.threads, options.seconds
        self.prepares, self.turns = options.prepare, 0 if options.prepare else options.turns

        self.reviews, self.texts = options.reviews, options.texts
        self.decoder = options.decoder if options.decoder.exists() else None
        self.encoder = options.encoder if options.encoder.exists() else None

    def copy(self, model, to):
        """A bundled model into a store; the daemon does not follow links."""
        if not to.exists():
            shutil.copytree(model, to)

    def run(self, *command):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
        return done.stdout

    def install(self):
        """The peers; does nothing if these versions are installed."""
        wanted = (HERE / "requirements.txt").read_text("utf-8")
        stamp = self.environment / "installed.txt"
        if stamp.exists() and stamp.read_text("utf-8") == wanted:
            return
        print(f"Installing the peers into {self.environment}; this takes some gigabytes ...", flush=True)
        self.run(sys.executable, "-m", "venv", self.environment)
        os.environ.setdefault("CMAKE_ARGS", "-DGGML_NATIVE=ON")  # llama.cpp is built here
        self.run(self.python, "-m", "pip", "install", "--quiet", "-r", HERE / "requirements.txt")
        stamp.write_text(wanted, "utf-8")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=list(SECTIONS), metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--build", type=Path, default=TOP / "build/release")
    parser.add_argument("--output", type=Path, default=TOP / "build/bench/peers.json")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="of each contender")
    parser.add_argument("--reviews", type=Path, help="directory with train.tsv and test.tsv, for `classify`")
    parser.add_argument(
        "--encoder", type=Path, default=TOP / "build/pretrained/all-MiniLM-L6-v2", help="for `encoders` and `encoders_http`"
    )
    parser.add_argument(
        "--decoder", type=Path, default=TOP / "build/pretrained/SmolLM2-135M-Instruct", help="for `decoders`"
    )
    parser.add_argument("--texts", type=Path, help="a file of lines, for these two [this documentation]")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.4, help="of a turn")
    parser.add_argument("--again", action="store_true", help="measure rows that the output has, too")
    parser.add_argument("--prepare", action="store_true", help="only install, convert and compare")
    return parser.parse_args()


def measure(section, setup, results, again):
    about = {name.lower(): getattr(section, name) for name in FIELDS if hasattr(section, name)}
    found = results.section(section.NAME, **about)
    for case in section.CASES:
        if results.has(section.NAME, case) and not again:
            continue
        print(f"{section.TITLE}: {case} ...", file=sys.stderr, flush=True)
        if setup.prepares:
            section.measure(setup, case)
            continue
        row = {"case": case, "date": machine.now(), "load": machine.load(), "commit": machine.commit(TOP)}
        row["results"] = add_ratios(section.measure(setup, case), section.BETTER)
        results.add(section.NAME, row)
    if not setup.prepares:
        print(report.text(found))


def main():
    options = arguments()
    setup = Setup(options)
    setup.install()
    results = Results(options.output, machine.describe(options.threads))
    for name in options.only or SECTIONS:
        measure(SECTIONS[name], setup, results, options.again)


if __name__ == "__main__":
    main()
