"""What one rater knows of their own work: what they sent, what was confirmed to them, and what they were told."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from storm.facts import Fact

_SHORT = 100


@dataclass
class Sent:
    """An answer of the task. ``refused``: the sentence with which it was not taken."""

    facts: list[Fact]
    step_id: str
    confirmed: bool = False
    refused: str | None = None


@dataclass
class Notebook:
    """``ended``: how it ended for them, in a word; None: they are still at it. ``told``: the last page's or refusal's words.

    ``resumed``, ``began_anew``: how often they found their work as it was, and how often not, though they were back in time.
    ``asked_twice``: answers that were confirmed, and asked for again. ``waits_s``: seconds from an answer to what it led to.
    ``calm_s``: for how long they have been waiting while no fault touched them; ``longest_calm_s``: the most of it.
    """

    worker: str
    study: str
    began: float = field(default_factory=time.monotonic)
    answers: list[Sent] = field(default_factory=list)
    ended: str | None = None
    told: str = ""
    reloads: int = 0
    began_anew: int = 0
    asked_twice: int = 0
    resumed: int = 0
    waits_s: list[float] = field(default_factory=list)
    waiting_since: float | None = None
    calm_s: float = 0.0
    longest_calm_s: float = 0.0
    lines: list[str] = field(default_factory=list)

    def note(self, what: str) -> None:
        """A line of this worker's history."""
        self.lines.append(f"{time.monotonic() - self.began:7.2f} s  {what[:_SHORT]}")

    def waits(self) -> None:
        """From now on something is due."""
        if self.waiting_since is None:
            self.waiting_since = time.monotonic()

    def has_it(self) -> None:
        """What was due has come."""
        if self.waiting_since is not None:
            self.waits_s.append(time.monotonic() - self.waiting_since)
            self.waiting_since = None
            self.calm_s = 0.0

    def waits_in_calm(self, seconds: float) -> None:
        """So much longer nothing was wrong, and what is due has not come. What a fault made late is late for a moment."""
        if self.waiting_since is not None:
            self.calm_s += seconds
            self.longest_calm_s = max(self.longest_calm_s, self.calm_s)

    def finish(self, how: str, words: str) -> None:
        """Nothing more comes."""
        self.ended, self.told = how, words
        self.note(f"{how}: {words}")

    @property
    def confirmed(self) -> list[Fact]:
        return [fact for answer in self.answers if answer.confirmed for fact in answer.facts]

    @property
    def sent(self) -> list[Fact]:
        return [fact for answer in self.answers for fact in answer.facts]

    def history(self, most: int = 30) -> str:
        """The end of what happened to this worker, by which a failure can be understood."""
        left_out = max(0, len(self.lines) - most)
        lines = [f"        … {left_out} lines before", *self.lines[left_out:]] if left_out else self.lines
        return "\n".join([f"{self.worker} in {self.study}:", *lines])
