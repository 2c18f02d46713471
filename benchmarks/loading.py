"""Peak memory while a model of Hugging Face is loaded, as a multiple of its files.

Each model is loaded by a process of its own, which says how much more memory it had at its fullest than before.

    python -m benchmarks.loading FOLDER DTYPE
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.processes import BenchmarkError, environment
from benchmarks.serving_models import make_causal_lm
from parlai_humaneval.models.backends.hugging_face import WEIGHTS, load_pretrained

TIMEOUT_S = 300.0
CASES = {
    "float32, safetensors": ("safetensors", "float32"),
    "float32, bin": ("bin", "float32"),
    "float32 in ten files, read as bfloat16": ("shards", "bfloat16"),
    "float32 in one file, read as bfloat16": ("safetensors", "bfloat16"),
}
NOTE = (
    "a GPT-2 of {layers} layers and width {width} with random weights, loaded on the processor. The figure is the peak "
    "memory minus the memory before, divided by the bytes of the model's files. Pages of a safetensors file that were "
    "read count, although the system may reclaim them"
)


def run(quick: bool) -> list[Figure]:
    """Files of both kinds, and weights that become smaller numbers while they are read; with ``quick`` one small model."""
    layers, width = (4, 768) if quick else (10, 1024)
    note = NOTE.format(layers=layers, width=width)
    figures = []
    with tempfile.TemporaryDirectory() as name:
        for words, (files, dtype) in list(CASES.items())[: 1 if quick else None]:
            home = Path(name) / files
            if not home.exists():
                make_causal_lm(home, layers=layers, width=width, heads=4, words=8_000, files=files)
            share = peak_share(home, dtype)
            figures.append(Figure(name=f"memory to load, {words}", unit="× files", ours=share, note=note))
    return figures


def peak_share(home: Path, dtype: str) -> float:
    """What loading takes at its fullest, as a multiple of the bytes of the weights' files."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.loading", str(home), dtype]
    with tempfile.TemporaryDirectory() as folder:
        ended = subprocess.run(
            command, env=environment(Path(folder)), capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    if ended.returncode:
        raise BenchmarkError(f"{home} could not be loaded: {ended.stderr.strip()[-500:]}")
    files = [file for pattern in WEIGHTS for file in home.glob(pattern)]
    return int(ended.stdout.split()[-1]) / sum(file.stat().st_size for file in files)


def _peak() -> int:
    """Most bytes that this process has had so far, as Linux tells it; ``getrusage`` would begin with its parent's."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith("VmHWM:")))


def load(home: Path, dtype: str) -> int:
    """Bytes that loading takes at its fullest, in this process."""
    with tempfile.TemporaryDirectory() as folder:  # what is imported at the first load is no part of the model
        make_causal_lm(Path(folder), layers=1, width=8, heads=1, words=100)
        load_pretrained(folder, "causal")
    before = _peak()
    load_pretrained(str(home), "causal", dtype=dtype)
    return _peak() - before


if __name__ == "__main__":
    print(load(Path(sys.argv[1]), sys.argv[2]))
