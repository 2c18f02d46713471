"""Which turns weigh most in the ratings at the end: per-turn rates regressed on them (Smith et al. 2022, App. C.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval.statistics.likert import RatedCriterion, final_scores
from parlai_humaneval.statistics.regression import ols
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.tables.choices import ChoiceGroup, choice_groups
from parlai_humaneval.tables.from_records import Tables

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TurnWeights:
    """Least squares of final scores on the rates of each turn, over the dialogues of ``model`` ("" for all together).

    ``terms``: intercept and a coefficient a turn, clustered by worker; ``paper``: the same with classical intervals.
    ``left_out``: dialogues with fewer or more turns than ``n_turns``, or without final ratings.
    """

    model: str
    n_dialogues: int
    n_turns: int
    left_out: int
    terms: list[Result]
    paper: list[Result]


def single_groups(tables: Tables) -> list[ChoiceGroup]:
    """The groups of single replies, without the work on the turns in which several were shown."""
    turns = tables.turns
    one = turns.drop_duplicates(["dialogue_id", "model"]).drop_duplicates("dialogue_id", keep=False)["dialogue_id"]
    alone = turns["dialogue_id"].isin(one).to_numpy(dtype=bool)
    if not alone.any():
        return []
    return [group for group in choice_groups(replace(tables, turns=turns[alone])) if group.kind == "single"]


def weigh_turns(
    turns: Sequence[ChoiceGroup], ratings: Sequence[RatedCriterion], *, level: float = 0.95
) -> list[TurnWeights]:
    """Regress the mean final rating of a dialogue on the share of criteria found good at each turn.

    As in the paper both are means over the criteria. ``turns``: groups of single replies; ``ratings``: final ratings of
    the same dialogues. All models together come first, then each. Only dialogues of the most frequent number of turns
    count. Empty where no dialogue has both.

    Assumes what least squares does; final ratings are on a few points, so that intervals are approximate.
    """
    rates, scores = turn_rates(turns), final_scores(ratings)
    rates = rates.join(scores.set_index(["dialogue_id", "worker_id"])["score"], how="left")
    if rates["score"].notna().sum() == 0:
        return []
    of_model = rates.index.get_level_values("dialogue_id").map(_models(scores)).to_numpy(dtype=object)
    models = sorted({str(model) for model in of_model if isinstance(model, str)})
    together = _regressed(rates, "", level)
    each = [_regressed(rates[of_model == model], model, level) for model in models if len(models) > 1]
    return [one for one in (together, *each) if one is not None]


def turn_rates(groups: Sequence[ChoiceGroup]) -> pd.DataFrame:
    """Share of criteria found good: a row per dialogue and worker (the index), a column per turn; nan where none."""
    parts = [
        pd.DataFrame(
            {
                "dialogue_id": group.turns.dialogues,
                "worker_id": group.turns.workers,
                "turn": group.turns.turns.astype(int),
                "good": np.nansum(group.turns.chosen, axis=1),
            }
        )
        for group in groups
    ]
    if not parts:
        index = pd.MultiIndex.from_arrays([[], []], names=["dialogue_id", "worker_id"])
        nothing: pd.DataFrame = pd.DataFrame(index=index)
        return nothing
    means = pd.concat(parts).groupby(["dialogue_id", "worker_id", "turn"])["good"].mean()
    rates: pd.DataFrame = means.unstack("turn")
    return rates


def _models(scores: pd.DataFrame) -> dict[str, str]:
    return dict(zip(scores["dialogue_id"], scores["model"], strict=True))


def _regressed(rates: pd.DataFrame, model: str, level: float) -> TurnWeights | None:
    turns = [name for name in rates.columns if name != "score"]
    rated = rates[rates["score"].notna().to_numpy(dtype=bool)]
    if rated.empty:
        return None
    known = rated[turns].notna()
    n_turns = int(known.sum(axis=1).mode().max())
    first = turns[:n_turns]
    whole = (known[first].all(axis=1) & (known.sum(axis=1) == n_turns)).to_numpy(dtype=bool)
    used = rated[whole]
    if used.empty:
        return None
    x, y = used[first].to_numpy(dtype=float), used["score"].to_numpy(dtype=float)
    workers = used.index.get_level_values("worker_id").to_numpy(dtype=object)
    names = [f"turn {turn}" for turn in first]
    return TurnWeights(
        model=model,
        n_dialogues=len(used),
        n_turns=n_turns,
        left_out=len(rates) - len(used),
        terms=ols(x, y, names=names, clusters=workers, level=level),
        paper=ols(x, y, names=names, level=level),
    )
