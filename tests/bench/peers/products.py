"""products.py - single matrix products on one thread: our kernels beside oneDNN's."""

import sys

import machine
import turns
from contender import Contender

NAME, UNIT, BETTER, PLOT = "products", "GFLOP/s", "higher", "bars"
TITLE = "Single products"
ABOUT = (
    "One thread, rows x outputs x inputs, results in fp32. Weights are packed beforehand, each in the layout that its "
    "library likes best."
)
CASES = {
    "1 x 1,024 x 256": (1, 1024, 256),
    "16 x 1,024 x 256": (16, 1024, 256),
    "64 x 1,024 x 256": (64, 1024, 256),
    "64 x 256 x 1,024": (64, 256, 1024),
    "1,024 x 1,024 x 256": (1024, 1024, 256),
    "8,192 x 256 x 1,024": (8192, 256, 1024),
}
LEVELS = (("avx2", "avx2"), ("avx512f", "avx512"), ("avx512_bf16", "avx512bf16"), ("amx_bf16", "amx"))
PRECISIONS = {"avx2": "fp32", "avx512": "fp32", "avx512bf16": "bf16", "amx": "bf16"}
OTHERS = {"fp32": "f32", "bf16": "bf16"}


def compile_peer(setup):
    """oneDNN has a C interface only, so its side is compiled here."""
    program = setup.cache / "products_peer"
    if not program.exists():
        at = setup.environment
        setup.run(
            "cc", "-O2", "-D_GNU_SOURCE", setup.here / "products_peer.c", f"-I{at}/include", f"-L{at}/lib", "-ldnnl",
            "-lm", f"-Wl,-rpath,{at}/lib", "-o", program,
        )  # fmt: skip
    return program


def levels():
    """Our best level of each precision on this machine."""
    flags = machine.cpu()[2]
    return {PRECISIONS[level]: level for flag, level in LEVELS if flag in flags}


def contenders(setup, shape):
    for precision, level in levels().items():
        ours = f"{precision} {level}"
        command = [sys.executable, setup.here / "each_turn.py", "value", setup.build / "tests/bench_kernels"]
        yield Contender("Sluice", ours, command + ["--product", level, *shape])
        peer = ["env", "OMP_NUM_THREADS=1", compile_peer(setup), OTHERS[precision], *shape]
        yield Contender("oneDNN", precision, peer, f"Sluice {ours}")


def measure(setup, case):
    return turns.take(list(contenders(setup, CASES[case])), setup.cache / "products", setup, BETTER, seconds=0.05)
