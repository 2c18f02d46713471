"""The answer of the section ``comparisons`` in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parlai_humaneval.report.deciding import deciding_p, pairs_apart
from parlai_humaneval.report.section import ALPHA
from parlai_humaneval.report.sections.comparisons.views import group_words
from parlai_humaneval.statistics.wording import counted, percent, percent_range

if TYPE_CHECKING:
    from parlai_humaneval.report.sections.comparisons.parts import ComparedPair, Comparisons

NAMED = 6
"""As many pairs, or models, as are told one by one."""


def headline(section: Comparisons, level: float, *, of_turns: bool = False) -> str:
    """Who wins, in which order, and which pairs differ.

    ``of_turns``: whether the section on turns answers from the same turns; then the difference is said.
    """
    pairs = section.pairs
    decided = [pair for pair in pairs if pair.win_rate_a is not None]
    if not decided:
        return f"All {counted(sum(pair.n for pair in pairs), 'comparison')} are ties: nothing tells the models apart."
    best = min(decided, key=lambda pair: (*(1.0 if p is None else p for p in _ps(pair)), -_gap(pair)))
    same = ""
    if of_turns and best.kind == "turn":
        same = " These are the choices told under “Turn by turn” once more, without those that favour neither."
    if len(pairs) == 1:
        return f"{_sentence(best, level)}.{same}"
    different = [pair for pair in decided if pair.p_clustered_holm is not None and pair.p_clustered_holm < ALPHA]
    named = f" ({_named(different)})" if different and len({pair.group for pair in pairs}) == 1 else ""
    order, apart = _order(section, best), pairs_apart(len(different), len(pairs), "models")
    return f"{order}{apart[0].upper()}{apart[1:]}{named}; the clearest: {_sentence(best, level)}.{same}"


def _ps(pair: ComparedPair) -> tuple[float | None, float | None]:
    return pair.p_clustered_holm, pair.p_clustered


def _gap(pair: ComparedPair) -> float:
    return abs((pair.win_rate_a or 0.0) - 0.5)


def _named(pairs: list[ComparedPair]) -> str:
    """“a from b, c from b”, the winner first."""
    names = [
        f"{pair.model_a} from {pair.model_b}"
        if (pair.win_rate_a or 0) >= 0.5
        else f"{pair.model_b} from {pair.model_a}"
        for pair in pairs[:NAMED]
    ]
    return ", ".join(names) + (f" and {len(pairs) - NAMED} more" if len(pairs) > NAMED else "")


def _order(section: Comparisons, best: ComparedPair) -> str:
    """How often each model won against all others, where there are more than two."""
    models = [one for one in section.models if one.group == best.group and one.win_rate is not None]
    if len(models) < 3:
        return ""
    models.sort(key=lambda one: (-(one.win_rate or 0.0), one.model))
    rates = ", ".join(f"{one.model} {percent(one.win_rate)}" for one in models[:NAMED])
    more = f" and {len(models) - NAMED} more" if len(models) > NAMED else ""
    return f"Won against all others, of what was decided, {group_words(best)}: {rates}{more}. "


def _sentence(pair: ComparedPair, level: float) -> str:
    rate, low, high = pair.win_rate_a or 0.0, pair.ci_low, pair.ci_high
    first, second = pair.model_a, pair.model_b
    if rate < 0.5:
        rate, first, second = 1 - rate, second, first
        low, high = (None, None) if low is None or high is None else (1 - high, 1 - low)
    interval = "no interval can be given" if low is None else f"{percent(level)} interval {percent_range(low, high)}"
    return (
        f"{first} won {percent(rate)} of the comparisons with {second} that were decided, {group_words(pair)}; "
        f"{interval}, {deciding_p(pair.p_clustered, pair.p_clustered_holm)}"
    )
