"""Run the parts of ``make test`` beside each other, all of them whatever fails, and end with one summary.

``python tests/every_part.py TARGET [TARGET …]``: each is a target of the Makefile, begun in the order given. Parts that
wait for browsers and launches run three at a time. Parts that only compute run two at a time beside them, at a lower
priority: they take what the others leave of the processor, and delay no test that goes by the clock.

Hundreds of tests go by the clock of real launches, and a busy machine can stop any of them for seconds. Where a few tests
of a part failed, just those run once more when all else is over, one at a time; a storm runs again as a whole. What fails
again has failed. What does not is named in the summary as flaky: it is a fault to be found, of the test or of the product,
though not of this change. The last lines of whatever failed are printed again at the end: of a log, that is what is kept.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

COMPUTING = frozenset({"test-python", "test-oldest", "test-newest", "test-web", "lint", "docs"})
"""Parts that seldom wait."""
WAITING_AT_A_TIME, COMPUTING_AT_A_TIME = 3, 2
AFTER_OTHERS = ("nice", "-n", "5")
MOST_AGAIN = 5
"""Of so many tests of a part at most it is believed that the machine was too busy for them."""
AGAIN = "--last-failed --last-failed-no-failures none -n 0"
PYTEST_PARTS = frozenset({"test-python", "test-tasks", "test-models", "test-browser", "test-oldest", "test-newest"})
WHOLE_AGAIN = frozenset({"test-storm"})
"""Parts that go by the clock and are not pytest's: nothing less than all of it runs again."""
FAILURES = ("FAILED ", "ERROR ")
"""How pytest's own summary begins the line of a test that failed."""
LAST_LINES = 60


@dataclass(frozen=True)
class Ended:
    """A part that ran: its exit status, its time and the processor's, the tests that failed, and the end of its output."""

    name: str
    status: int
    seconds: float
    processor_s: float
    failures: tuple[str, ...]
    last_lines: tuple[str, ...]

    def lines(self, verdict: str) -> list[str]:
        """What the summary says of it."""
        minutes, seconds = divmod(round(self.seconds), 60)
        last = next((line.strip(" =") for line in reversed(self.last_lines) if line.strip()), "")
        return [
            f"{self.name:14}{verdict:8}{minutes:3} min {seconds:2} s {self.processor_s:5.0f} CPU s  {last}",
            *(f"{'':14}{line}" for line in self.failures),
        ]


def run_part(name: str, command: Sequence[str]) -> Ended:
    """Run one part, each line of its output printed with its name as it comes."""
    began = time.monotonic()
    failures: list[str] = []
    last_lines: deque[str] = deque(maxlen=LAST_LINES)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    assert process.stdout is not None
    for line in process.stdout:
        print(f"{name:14}{line}", end="", flush=True)
        last_lines.append(line.rstrip())
        if line.startswith(FAILURES):
            failures.append(line.rstrip())
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)  # so that nobody waits for it again
    processor_s = used.ru_utime + used.ru_stime
    return Ended(name, process.returncode, time.monotonic() - began, processor_s, tuple(failures), tuple(last_lines))


def run_parts(
    commands: Mapping[str, Sequence[str]],
    again: Mapping[str, Sequence[str]] | None = None,
    whole_again: Collection[str] = (),
) -> int:
    """Run every part; 0 if all passed, else 1.

    ``again``: for parts that have one, the command that runs only those of their tests that failed last. ``whole_again``:
    parts of which all runs once more.
    """
    with ThreadPoolExecutor(WAITING_AT_A_TIME) as waiting, ThreadPoolExecutor(COMPUTING_AT_A_TIME) as computing:
        running = [
            computing.submit(run_part, name, [*AFTER_OTHERS, *command])
            if name in COMPUTING
            else waiting.submit(run_part, name, command)
            for name, command in commands.items()
        ]
        ended = [part.result() for part in running]
    failed = [part for part in ended if part.status != 0]
    few = [part.name for part in failed if 0 < len(part.failures) <= MOST_AGAIN]
    again = {name: command for name, command in (again or {}).items() if name in few}
    again |= {part.name: commands[part.name] for part in failed if part.name in whole_again}
    repeated = {name: run_part(name, command) for name, command in again.items()}
    flaky = {name for name, part in repeated.items() if part.status == 0}
    wrong = [part.name for part in failed if part.name not in flaky]
    print()
    for part in ended:
        verdict = "FAILED" if part.name in wrong else "flaky" if part.name in flaky else "passed"
        print("\n".join(part.lines(verdict)))
        if part.name in repeated:
            print("\n".join(repeated[part.name].lines("again")))
    for part in failed:
        end = repeated[part.name] if part.name in wrong and part.name in repeated else part
        print(f"\n--- The end of {part.name}:", *end.last_lines, sep="\n")
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
            WHOLE_AGAIN,
        )
    )
