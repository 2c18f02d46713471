"""The sentences that the classifier learns from; all of them stand in this repository."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PACKAGED = ROOT / "parlai_humaneval" / "data"
TESTED = ROOT / "tests" / "parlai_humaneval" / "display" / "data"
DRAWN = 24
"""So many sentences are drawn from a line with alternatives."""

Labelled = tuple[str, bool]
"""A sentence, and whether only a program says so of itself."""

_CHOICE = re.compile(r"\(([^()]*)\)")


def learned_from(seed: int) -> list[Labelled]:
    """All of them; those of lines with alternatives are drawn by ``seed``."""
    return [*tuning(seed), *(2 * tested()), *((turn, False) for turn in people())]


def tuning(seed: int) -> list[Labelled]:
    """Those that were written for the classifier: ``tuning_en.txt``."""
    drawing = random.Random(seed)
    found: list[Labelled] = []
    for line in (HERE / "tuning_en.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith(("+ ", "- ")):
            drawn = {_drawn(line[2:], drawing) for _ in range(DRAWN)}
            found += [(sentence, line[0] == "+") for sentence in sorted(drawn)]
    return found


def _drawn(line: str, drawing: random.Random) -> str:
    while choice := _CHOICE.search(line):
        line = line[: choice.start()] + drawing.choice(choice.group(1).split("|")) + line[choice.end() :]
    return re.sub(r"\s+([.,?!])", r"\1", re.sub(r"\s+", " ", line)).replace(",,", ",").strip()


def tested() -> list[Labelled]:
    """The English ones that the tests of the phrases use."""
    lines = (TESTED / "dev_en.txt").read_text(encoding="utf-8").splitlines()
    found = [(line[2:], line[0] == "+") for line in lines if line.startswith(("+ ", "- "))]
    for kind in ("seen", "harder", "heldout"):
        found += [(str(row["text"]), bool(row["discloses"])) for row in _rows(TESTED / f"{kind}_en.jsonl")]
    found += [(str(row["en"]), bool(row["discloses"])) for row in _rows(TESTED / "fresh.jsonl") if "source" not in row]
    return found


def people() -> list[str]:
    """What people say in the packaged dialogues, and packaged personas."""
    turns = [
        turn
        for name in ("corpus", "human_dialogues")
        for row in _rows(PACKAGED / f"{name}.jsonl")
        for turn in row["turns"]
    ]
    personas = [sentence for row in _rows(PACKAGED / "personas.jsonl") for sentence in row["sentences"]]
    return list(dict.fromkeys([*turns, *personas]))


def _rows(path: Path) -> Iterator[dict[str, list[str]]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            yield json.loads(line)
