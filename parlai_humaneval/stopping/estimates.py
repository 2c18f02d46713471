"""How strong models are after a study that stopped when it had seen enough."""

from __future__ import annotations

from collections.abc import Iterable

from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.ranking.bradley_terry import bradley_terry
from parlai_humaneval.statistics.ranking.fit import Strengths
from parlai_humaneval.stopping.events import Outcome

AFTER = "after optional stopping"
NOTE = (
    "The study stopped when it had its answer, which makes gaps look wider than they are (in simulations by one to four "
    "points of the difference of two win rates), and intervals of a fixed study too sure: go by the claims, and by the "
    "intervals that one may look at whenever one likes."
)


def strengths_after_stopping(
    answered: Iterable[tuple[str, tuple[str, ...], Outcome]], *, level: float = 0.95
) -> Strengths | None:
    """Bradley–Terry strengths, clustered by worker and labelled “after optional stopping”; None where there is nothing.

    ``answered``: worker, models and outcome of each dialogue. There are no p-values: those of a fixed study do not hold.
    """
    first, second, outcome, workers = [], [], [], []
    for worker, models, said in answered:
        for i in range(len(models)):
            for j in range(i + 1, len(models)):
                leads = _leads(said.picks[i], said.picks[j], said.turns)
                first += [models[i]] * len(leads)
                second += [models[j]] * len(leads)
                workers += [worker] * len(leads)
                outcome += leads
    if not outcome:
        return None
    found = bradley_terry(first, second, outcome, workers, slots=False, level=level)
    return found.model_copy(
        update={
            "models": tuple(map(_labelled, found.models)),
            "pairs": tuple(map(_labelled, found.pairs)),
            "equal": _labelled(found.equal),
            "best": None,
            "notes": (*found.notes, NOTE),
        }
    )


def _leads(picks: int, others: int, turns: int) -> list[int]:
    """Of each turn: 1 where only the first was chosen, −1 where only the second was, else 0."""
    both = max(0, picks + others - turns)
    won, lost = picks - both, others - both
    return [1] * won + [-1] * lost + [0] * (turns - won - lost)


def _labelled(result: Result) -> Result:
    return result.but(p_value=None, p_holm=None, statistic=None, method=f"{result.method}, {AFTER}")
