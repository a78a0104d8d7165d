"""machine.py - what a table must say besides its numbers: machine, versions, date, load."""

import datetime
import os
import platform
import re
import subprocess

LEVELS = (
    "avx2",
    "avx_vnni",
    "avx512f",
    "avx512_vnni",
    "avx512_bf16",
    "amx_bf16",
    "amx_int8",
    "asimd",
    "bf16",
    "i8mm",
)


def cpu():
    """The processor's name and those of its flags that matter here, from /proc/cpuinfo."""
    text = open("/proc/cpuinfo", encoding="utf-8").read()
    name = re.search(r"^model name\s*: (.*)$", text, re.M)
    flags = re.search(r"^(?:flags|Features)\s*: (.*)$", text, re.M)
    has = set(flags[1].split()) if flags else set()
    numbers = re.findall(r"^(?:cpu family|model|stepping)\s*: (\d+)$", text, re.M)[:3]
    return name[1] if name else platform.machine(), "/".join(numbers), [level for level in LEVELS if level in has]


def describe(threads):
    name, model, flags = cpu()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    system = platform.freedesktop_os_release().get("PRETTY_NAME", "Linux")
    return {
        "processor": name,
        "model": model,
        "flags": flags,
        "isa": os.environ.get("SLUICE_ISA", ""),  # what Sluice is held to
        "processors": len(os.sched_getaffinity(0)),
        "threads": threads,
        "memory_gib": round(memory / 2**30),
        "system": system,
        "kernel": ".".join(platform.release().split(".")[:2]),
    }


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")


def load():
    return round(os.getloadavg()[0], 2)


def commit(top):
    """The version of our own sources; empty without git."""
    done = subprocess.run(["git", "-C", top, "describe", "--always", "--dirty"], capture_output=True, text=True)
    return done.stdout.strip()
