"""What the answer would be without one of the models."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict

from parlai_humaneval.statistics.preference.tests import TurnTest, choices_checked, equality_tests, holm_corrected

ALPHA = 0.05


class LeftOut(BaseModel):
    """The comparison without model ``left_out``.

    ``ranking``: the other models, most often chosen first; ``order_changed``: whether they stand otherwise than with it.
    ``win_rates``: of the turns that count without it. ``p_value`` and ``p_clustered``: of all remaining models at once,
    of the pair where two remain. ``changed_pairs``: pairs that differ (clustered, Holm's correction) with it and not
    without it, or the other way round.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    left_out: str
    n: int
    ranking: tuple[str, ...]
    order_changed: bool
    win_rates: dict[str, float | None]
    p_value: float | None
    p_clustered: float | None
    changed_pairs: tuple[str, ...]


def leave_one_out(
    chosen: npt.ArrayLike,
    models: Sequence[str],
    workers: npt.ArrayLike,
    tests: Sequence[TurnTest],
    *,
    one_pick: bool,
) -> list[LeftOut]:
    """For each of three or more models what changes without it; ``tests`` are those of all (``compare_choices``).

    With ``one_pick`` the turns that the model won are left out, as if raters who picked it had not been asked: this
    takes for granted that they would have spread over the others as everybody did. A pair's own test rests on the
    turns that tell its models apart, so that only its correction changes.

    Raises:
        ValueError: as ``compare_choices``.

    A ranking that changes without a model rests on comparisons with it.

    Assumes what :func:`compare_choices` does.

    Source: Liu et al. 2023.

    >>> from parlai_humaneval.statistics.preference.tests import compare_choices
    >>> chosen = [[1, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 1], [1, 0, 0], [1, 1, 0], [0, 0, 1], [1, 0, 0]]
    >>> workers = list('aabbccdd')
    >>> models = ['ada', 'bob', 'cyd']
    >>> tests = compare_choices(chosen, models, workers, one_pick=False)
    >>> [(left.left_out, left.ranking) for left in leave_one_out(chosen, models, workers, tests, one_pick=False)]
    [('ada', ('bob', 'cyd')), ('bob', ('ada', 'cyd')), ('cyd', ('ada', 'bob'))]
    """
    matrix, who = choices_checked(chosen, models, workers)
    if len(models) < 3:
        return []
    whole = _ranking(_rates(matrix, models))
    return [_without(matrix, models, who, tests, place, whole, one_pick) for place in range(len(models))]


def _without(
    matrix: npt.NDArray[np.float64],
    models: Sequence[str],
    workers: npt.NDArray[np.object_],
    tests: Sequence[TurnTest],
    place: int,
    whole: tuple[str, ...],
    one_pick: bool,
) -> LeftOut:
    out, rest = models[place], [model for model in models if model != models[place]]
    keep = (matrix[:, place] != 1) if one_pick else np.ones(len(matrix), dtype=bool)
    matrix, workers = np.delete(matrix, place, axis=1)[keep], workers[keep]
    rates = _rates(matrix, rest)
    ranking = _ranking(rates)
    before = [test for test in tests if test.of_pair and out not in test.models]
    pairs = holm_corrected(before)
    overall = equality_tests(matrix, rest, workers, one_pick) if len(rest) > 2 else pairs[0]
    return LeftOut(
        left_out=out,
        n=len(matrix),
        ranking=ranking,
        order_changed=ranking != tuple(model for model in whole if model != out),
        win_rates=rates,
        p_value=overall.paper.p_value,
        p_clustered=overall.clustered.p_value,
        changed_pairs=tuple(
            f"{' – '.join(new.models)}"
            for old, new in zip(before, pairs, strict=True)
            if _differs(old) != _differs(new)
        ),
    )


def _differs(test: TurnTest) -> bool:
    return test.clustered.p_holm is not None and test.clustered.p_holm < ALPHA


def _rates(matrix: npt.NDArray[np.float64], models: Sequence[str]) -> dict[str, float | None]:
    shown, won = (~np.isnan(matrix)).sum(axis=0), np.nansum(matrix, axis=0)
    return {model: float(w / n) if n else None for model, w, n in zip(models, won, shown, strict=True)}


def _ranking(rates: dict[str, float | None]) -> tuple[str, ...]:
    return tuple(sorted(rates, key=lambda model: (-(rates[model] or 0.0), model)))
