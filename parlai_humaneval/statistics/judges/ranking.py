"""Bradley–Terry strengths by people, made more exact by a judge's comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.judges.matching import Answers, Matched, matched
from parlai_humaneval.statistics.judges.prediction_powered import Floats, Question, combined
from parlai_humaneval.statistics.ranking.bradley_terry import FittedPairs
from parlai_humaneval.statistics.ranking.from_tables import fitted_strengths


@dataclass(frozen=True)
class StrengthsWithJudge:
    """Each model's strength and each two models' difference, and the answers that they rest on."""

    models: list[Result]
    pairs: list[Result]
    answers: Matched


def strengths_with_judge(
    people: pd.DataFrame, judge: pd.DataFrame, unit: str, *, level: float
) -> StrengthsWithJudge | None:
    """Strengths by people and judge together; None where no strength can be estimated, or the judge answered nothing.

    A judge's comparison moves the strengths as a person's would; only those of one pair are held against each other, so
    that people and judge may have compared pairs unequally often. One λ is tuned for all strengths, so that their
    differences add up wherever the judge helps each of them.
    """
    fitted = fitted_strengths(people, level=level)
    rows, influence = fitted.rows, fitted.influence
    if rows is None or influence is None:
        return None
    known = people[fitted.kept]
    pairs = set(zip(known["model_a"], known["model_b"], strict=True))
    theirs = judge[[pair in pairs for pair in zip(judge["model_a"], judge["model_b"], strict=True)]]
    if not len(theirs):
        return None
    both = matched(_answers(known, pairs), _answers(theirs, pairs))
    if not both.known.any():
        return None
    evidence = both.evidence(influence, _said(fitted, theirs))
    power = evidence.tuned(rows)
    units = len(known) if unit == "comparison" else int(known["dialogue_a"].nunique())
    first, second = (pd.Index(fitted.known).get_indexer(pd.Index(known[side])) for side in ("model_a", "model_b"))
    alone = {result.name: result for result in (*fitted.strengths.models, *fitted.strengths.pairs)}

    def answer(name: str, of: Floats) -> Result:
        """Of a combination of the strengths, as much about each model as ``of`` says."""
        sizes = np.abs(of)[first] + np.abs(of)[second]
        question = Question(alone[name], of @ rows, sizes, unit, units, null=0.0)
        return combined(evidence, question, power)

    single = np.eye(len(fitted.known))
    return StrengthsWithJudge(
        models=[answer(f"strength of {name}", single[place]) for place, name in enumerate(fitted.known)],
        pairs=[
            answer(f"{fitted.known[a]} over {fitted.known[b]}", single[a] - single[b])
            for a, b in combinations(range(len(fitted.known)), 2)
        ],
        answers=both,
    )


def _answers(rows: pd.DataFrame, pairs: set[tuple[str, str]]) -> Answers:
    """Comparisons by pair; their values are not used, as a strength is no mean of them."""
    order = {pair: number for number, pair in enumerate(sorted(pairs))}
    strata = np.array([order[pair] for pair in zip(rows["model_a"], rows["model_b"], strict=True)], dtype=np.intp)
    items = (rows["item"] + " of " + rows["model_a"] + " and " + rows["model_b"]).to_numpy(dtype=object)
    workers, first, second = (rows[name].to_numpy(dtype=object) for name in ("worker_id", "dialogue_a", "dialogue_b"))
    ones = np.ones(len(rows))
    return Answers(ones, ones, strata, items, workers, (first, second))


def _said(fitted: FittedPairs, judge: pd.DataFrame) -> Floats:
    """Parameters × items: how the judge's answers to each, averaged, would move the parameters; items as in ``matched``."""
    moved = fitted.moved_by(judge["model_a"], judge["model_b"], judge["outcome"])
    names = judge["item"] + " of " + judge["model_a"] + " and " + judge["model_b"]
    codes, items = pd.factorize(names.to_numpy(dtype=object))
    size = np.bincount(codes, minlength=len(items))
    return np.stack([np.bincount(codes, weights=row, minlength=len(items)) / size for row in moved])
