"""How a storm went, in figures, and which checks it passed: one object for the terminal, Markdown and JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class StormReport:
    """``problems``: check → what violates it; an empty list: it holds. ``histories``: of the workers concerned.

    ``failed_launches``: that did not come up because of a fault, and were tried again.
    """

    seed: int
    seconds: float
    disk: str
    events: dict[str, int] = field(default_factory=dict)
    workers: int = 0
    endings: dict[str, int] = field(default_factory=dict)
    answers: dict[str, int] = field(default_factory=dict)
    units: dict[str, int] = field(default_factory=dict)
    resumed: int = 0
    began_anew: int = 0
    reloads: int = 0
    median_wait_s: float = 0.0
    longest_wait_s: float = 0.0
    launches: int = 0
    failed_launches: int = 0
    explained_tracebacks: int = 0
    problems: dict[str, list[str]] = field(default_factory=dict)
    histories: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return not any(self.problems.values())

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "passed": self.passed}

    def markdown(self) -> str:
        """A table of figures, one of checks, and what is to be mended."""
        rows = {
            "faults and acts": ", ".join(f"{name.replace('_', ' ')} {number}" for name, number in self.events.items()),
            "launches": f"{self.launches} ({self.failed_launches} did not come up and were tried again)",
            "workers": f"{self.workers} ({_listed(self.endings)})",
            "answers": _listed(self.answers),
            "units": _listed(self.units),
            "came back": f"{self.resumed} found it as it was, {self.began_anew} had to begin anew",
            "reloads": str(self.reloads),
            "wait after an answer": f"median {self.median_wait_s:.2f} s, longest {self.longest_wait_s:.1f} s",
            "tracebacks that faults explain": str(self.explained_tracebacks),
            "full disk by": self.disk,
        }
        lines = [f"### Storm, seed {self.seed}, {self.seconds:g} s", "", "| what | how much |", "|---|---|"]
        lines += [f"| {name} | {value} |" for name, value in rows.items()]
        lines += ["", "| check | |", "|---|---|"]
        lines += [f"| {check} | {_verdict(problems)} |" for check, problems in self.problems.items()]
        return "\n".join(lines) + "\n"

    def failures(self, most: int = 12) -> str:
        """The histories, and what violates the checks, at the end; empty where nothing does."""
        if self.passed:
            return ""
        lines = [*self.histories, "", f"The storm of seed {self.seed} ({self.seconds:g} s) has failed checks:"]
        for check, problems in self.problems.items():
            lines += [f"\n{check}: {len(problems)}"] if problems else []
            lines += [f"  {problem}" for problem in problems[:most]]
        return "\n".join([*lines, "", f'Again: make storm ARGS="{self.again}"'])

    @property
    def again(self) -> str:
        return f"--seconds {self.seconds:g} --seed {self.seed}"


def _listed(numbers: dict[str, int]) -> str:
    return ", ".join(f"{name} {number}" for name, number in numbers.items()) or "none"


def _verdict(problems: list[str]) -> str:
    return f"**{len(problems)} wrong**" if problems else "passed"
