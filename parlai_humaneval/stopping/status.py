"""Where a study stands, in numbers that stay right however often one looks; and what is foreseen of it.

Who is better than whom, in words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict

from parlai_humaneval.statistics.core.formatting import counted, percent

if TYPE_CHECKING:
    from parlai_humaneval.stopping.batch import Decisions

MOST_LIKELY = 0.9
"""Where so many of the simulated studies end at the cap, that is what is foreseen: four in five end nowhere else."""


class PairStatus(BaseModel):
    """Two models: what is decided, and what dialogues of the two alone say.

    Attributes:
        decided: ``first`` or ``second``: that one is better; ``equal`` within the margin; None: open.
        through: it follows from what was decided of others.
        share: mean share of turns that the first won, workers counting by their dialogues. After stopping it is a little too
            far from one half.
        low, high: ends of the interval for that share, which may be looked at whenever one likes.
    """

    model_config = ConfigDict(frozen=True)

    first: str
    second: str
    decided: Literal["first", "second", "equal"] | None
    through: bool
    workers: int
    dialogues: int
    share: float | None
    low: float
    high: float

    @property
    def claim(self) -> str:
        """What is decided of the two, such as “A > B” or “A ≈ B”; empty while they are open."""
        if self.decided is None:
            return ""
        if self.decided == "equal":
            return f"{self.first} ≈ {self.second}"
        return f"{self.first} > {self.second}" if self.decided == "first" else f"{self.second} > {self.first}"


class StoppingStatus(BaseModel):
    """Where a study stands.

    Attributes:
        pairs: all of them, and what is known of each.
        answer: what is decided, in words; empty before anything is.
        level: coverage of each pair's interval at all times together.
        dialogues: folded in; ``answered`` and ``in_flight``: finished, and begun and not finished; ``cap``: at most.
        fixed: dialogues of a fixed plan, each pair a study of its own, with 95 % power for the margin in any of them, at the
            variance that was seen; ``fixed_pooled``: of one plan for all models together (Bradley–Terry).
        timed_out: workers who ran out of time.
        cut_off: dialogues that their workers left in the middle, and that count as far as they went.
        warnings: what speaks against trusting the answer.
        ended: why nobody else is needed; None while the study goes on.
    """

    model_config = ConfigDict(frozen=True)

    pairs: tuple[PairStatus, ...]
    answer: str
    level: float
    workers: int
    dialogues: int
    answered: int
    in_flight: int
    cap: int
    fixed: float
    fixed_pooled: float
    timed_out: int
    cut_off: int = 0
    warnings: tuple[str, ...]
    ended: Literal["decided", "cap"] | None

    @property
    def open(self) -> list[tuple[str, str]]:
        """Pairs that are not decided."""
        return [(pair.first, pair.second) for pair in self.pairs if pair.decided is None]

    @property
    def open_words(self) -> str:
        """“4 of 6 pairs open”."""
        return f"{len(self.open)} of {len(self.pairs)} pairs open"

    @property
    def next_step(self) -> str:
        """What can be done where the study ended with pairs open; else empty."""
        if self.ended != "cap":
            return ""
        return (
            "To go on where it stopped, launch the study again with a higher max_dialogues: no error rate rests on it."
        )

    def __str__(self) -> str:
        if self.ended == "decided":
            share = percent(self.answered / self.fixed)
            return f"answer reached: {self.answer}; {share} of the dialogues of a fixed plan"
        start = f"the cap of {self.cap} dialogues is reached: " if self.ended else ""
        return f"{start}{self.open_words}{f'; decided: {self.answer}' if self.answer else ''}"


class Forecast(BaseModel):
    """Dialogues to go until the answer or the cap.

    Attributes:
        begun: dialogues that were finished or under way when this was foreseen, which are not to go.
        expected: on average.
        low, high: between which four in five of the simulated studies end.
        capped: share of them that end at the cap, with pairs open.
    """

    model_config = ConfigDict(frozen=True)

    expected: float
    low: int
    high: int
    capped: float
    simulations: int
    seed: int
    begun: int = 0

    def after(self, begun: int, cap: int) -> Forecast:
        """What is to go by the same forecast once so many dialogues have begun: never more than the cap leaves."""
        left, since = max(0, cap - begun), begun - self.begun
        low, expected, high = (min(max(0, given - since), left) for given in (self.low, self.expected, self.high))
        return self.model_copy(update={"begun": begun, "low": low, "expected": expected, "high": high})

    def __str__(self) -> str:
        if self.capped >= MOST_LIKELY:
            return f"will most likely end at the cap, after {counted(self.high, 'more dialogue')}"
        cap = f"; {percent(self.capped)} would end at the cap" if self.capped else ""
        return f"about {counted(round(self.expected), 'more dialogue')} (80 %: {self.low}–{self.high}{cap})"


def in_words(models: tuple[str, ...], decisions: Decisions, margin: float) -> str:
    """Who is better than whom in the first of the studies, such as “A > B > {C ≈ D within 10 points}”.

    Where that is no row of groups, as long as pairs are open or where A ≈ B ≈ C though A > C, claim after claim.
    """
    better, points = decisions.better[0], f"within {margin * 100:g} points"
    order = sorted(range(len(models)), key=lambda i: (-int(better[i].sum()), int(better[:, i].sum()), i))
    groups: list[list[int]] = []
    for model in order:
        if groups and not better[groups[-1][-1], model]:
            groups[-1].append(model)
        else:
            groups.append([model])
    from parlai_humaneval.stopping.evidence import pairs_of

    number, equal = pairs_of(len(models)).number, decisions.equal[0]
    place = {model: at for at, group in enumerate(groups) for model in group}
    is_row = all(
        better[i, j] if place[i] < place[j] else better[j, i] if place[i] > place[j] else equal[number[i, j]]
        for i in order
        for j in order
        if i < j
    )
    if is_row:
        return " > ".join(
            models[group[0]] if len(group) == 1 else f"{{{' ≈ '.join(models[i] for i in group)} {points}}}"
            for group in groups
        )
    claims = [
        f"{models[i]} > {models[j]}"
        for i in order
        for j in order
        if better[i, j] and not any(better[i, k] and better[k, j] for k in order)
    ]
    alike = [f"{models[i]} ≈ {models[j]}" for i in order for j in order if i < j and equal[number[i, j]]]
    return "; ".join([*claims, *([f"{', '.join(alike)} {points}"] if alike else [])])
