"""Run the parts of ``make test`` beside each other, all of them whatever fails, and end with one summary.

``python tests/every_part.py TARGET [TARGET …]``: each is a target of the Makefile. Three run at a time, in the order given.

Hundreds of tests go by the clock of real launches, and a busy machine can stop any of them for seconds. Where a few tests
of a part failed, just those run once more when all else is over, one at a time. What fails again has failed. What does not
is named in the summary as flaky: it is a fault to be found, of the test or of the product, though not of this change.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

AT_A_TIME = 3
MOST_AGAIN = 5
"""Of so many tests of a part at most it is believed that the machine was too busy for them."""
AGAIN = "--last-failed --last-failed-no-failures none -n 0"
PYTEST_PARTS = frozenset({"test-python", "test-tasks", "test-models", "test-browser", "test-oldest"})
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

    def lines(self, verdict: str) -> list[str]:
        """What the summary says of it."""
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


def run_parts(commands: Mapping[str, Sequence[str]], again: Mapping[str, Sequence[str]] | None = None) -> int:
    """Run every part; 0 if all passed, else 1.

    ``again``: for parts that have one, the command that runs only those of their tests that failed last.
    """
    with ThreadPoolExecutor(AT_A_TIME) as lanes:
        ended = list(lanes.map(run_part, commands, commands.values()))
    again = {} if again is None else again
    repeated = {
        part.name: run_part(part.name, again[part.name])
        for part in ended
        if part.status != 0 and part.name in again and 0 < len(part.failures) <= MOST_AGAIN
    }
    flaky = {name for name, part in repeated.items() if part.status == 0}
    wrong = [part.name for part in ended if part.status != 0 and part.name not in flaky]
    print()
    for part in ended:
        verdict = "FAILED" if part.name in wrong else "flaky" if part.name in flaky else "passed"
        print("\n".join(part.lines(verdict)))
        if part.name in repeated:
            print("\n".join(repeated[part.name].lines("again")))
    if wrong:
        print(f"\nFAILED: {', '.join(wrong)}")
    elif flaky:
        print("\nAll parts passed, but for tests that did so only when they ran again, alone. Find out why.")
    else:
        print("\nAll parts passed.")
    return 1 if wrong else 0


def target(name: str, *settings: str) -> list[str]:
    """The command that makes a target of the Makefile."""
    return ["make", "--no-print-directory", name, *settings]


if __name__ == "__main__":
    sys.exit(
        run_parts(
            {name: target(name) for name in sys.argv[1:]},
            {name: target(name, f"ARGS={AGAIN}") for name in sys.argv[1:] if name in PYTEST_PARTS},
        )
    )
