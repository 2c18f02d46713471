"""Run the parts of ``make test`` beside each other, all of them whatever fails, and end with one summary.

``python tests/every_part.py TARGET [TARGET …]``: each is a target of the Makefile. Two run at a time, in the order given.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

AT_A_TIME = 2
FAILURES = ("FAILED ", "ERROR ")
"""How pytest's own summary begins the line of a test that failed."""


@dataclass(frozen=True)
class Ended:
    """A part that ran: its exit status, its time, and what its output says at the end."""

    name: str
    status: int
    seconds: float
    last_line: str
    failures: tuple[str, ...]

    def lines(self) -> list[str]:
        """What the summary says of it."""
        verdict = "passed" if self.status == 0 else "FAILED"
        minutes, seconds = divmod(round(self.seconds), 60)
        return [
            f"{self.name:14}{verdict:8}{minutes:3} min {seconds:2} s  {self.last_line}",
            *(f"{'':14}{line}" for line in self.failures),
        ]


def run_part(name: str, command: Sequence[str]) -> Ended:
    """Run one part, each line of its output printed with its name as it comes."""
    began = time.monotonic()
    last_line, failures = "", []
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    assert process.stdout is not None
    for line in process.stdout:
        print(f"{name:14}{line}", end="", flush=True)
        if line.strip():
            last_line = line.strip(" =\n")
        if line.startswith(FAILURES):
            failures.append(line.rstrip())
    return Ended(name, process.wait(), time.monotonic() - began, last_line, tuple(failures))


def run_parts(commands: Mapping[str, Sequence[str]]) -> int:
    """Run every part; 0 if all passed, else 1."""
    with ThreadPoolExecutor(AT_A_TIME) as lanes:
        ended = list(lanes.map(run_part, commands, commands.values()))
    print("\n" + "\n".join(line for part in ended for line in part.lines()))
    wrong = [part.name for part in ended if part.status != 0]
    print(f"\nFAILED: {', '.join(wrong)}" if wrong else "\nAll parts passed.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(run_parts({target: ["make", "--no-print-directory", target] for target in sys.argv[1:]}))
