"""What studies take that stop once they reach a decision, of made-up ones."""

from __future__ import annotations

import numpy as np

from docs.facts import three_truths
from docs.facts.after_stopping import after_stopping
from docs.facts.decided_picture import pictures, verdict
from docs.facts.markdown import table
from docs.facts.one_study import CROWD, POINTS, RULE, OneStudy, PairUnderBoth, made_up, strengths
from docs.facts.peeking import looking
from parlai_humaneval.statistics.core.formatting import percent
from parlai_humaneval.stopping import simulation
from parlai_humaneval.stopping.simulation import win_rates

ALIKE = 200
"""Studies of the same models."""


def facts() -> dict[str, str]:
    """One study as a picture and as a table, many of its kind, and what looking does."""
    study = made_up()
    return {
        "decided_picture.md": pictures(study),
        "decided_pairs.md": f"> {study.standing}\n\n{_pairs(study)}",
        "decided_many.md": _many(study),
        "after_stopping.md": after_stopping(),
        "looking.md": looking(),
        "three_truths.md": three_truths.pictures(),
    }


def _pairs(study: OneStudy) -> str:
    head = ["", "true gap", "decided", "dialogues", "interval", f"after {study.planned} dialogues", "first p < .05"]
    return table(head, [_pair(pair) for pair in study.pairs])


def _pair(pair: PairUnderBoth) -> list[str]:
    standing = pair.standing
    return [
        f"{standing.first} – {standing.second}",
        _points(pair.gap),
        verdict(pair),
        str(pair.closed),
        _range(2 * standing.low - 1, 2 * standing.high - 1),
        _range(*pair.fixed),
        _peek(pair),
    ]


def _peek(pair: PairUnderBoth) -> str:
    if pair.peek.after is None:
        return "never"
    ahead = pair.standing.first if pair.peek.better == "first" else pair.standing.second
    return f"{ahead}, after {pair.peek.after}{' (wrong)' if pair.peek.wrongly else ''}"


def _range(low: float, high: float) -> str:
    return f"{_points(low)} to {_points(high)}"


def _points(difference: float) -> str:
    points = round(100 * difference)
    return f"{'−' if points < 0 else '+' * (points > 0)}{abs(points)}"


def _many(study: OneStudy) -> str:
    """What a sentence says of studies of the same models."""
    rates = win_rates(strengths(POINTS))
    done = simulation.made_up(RULE, rates, CROWD, studies=ALIKE, seed=1).run()
    low, high = np.quantile(done.dialogues, [0.1, 0.9])
    mean = float(done.dialogues.mean())
    return (
        f"This study took {study.standing.answered} dialogues. We simulated {ALIKE} more studies of the same models, and "
        f"four in five took {low:.0f} to {high:.0f} dialogues. Their mean, {mean:.0f} dialogues, is "
        f"{percent(mean / study.planned_in_all)} of the dialogues in fixed plans for each pair, and "
        f"{percent(mean / study.planned_pooled)} of the dialogues in one plan for all pairs. "
        f"{int(done.false_claims(rates, RULE.margin).sum())} of the {ALIKE} studies made a false claim."
    )
