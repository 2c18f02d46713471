"""The proof of a plan: studies of its size are made up, and the report's own verdict on each is counted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from parlai_humaneval.planning.designs import SHORT
from parlai_humaneval.planning.inputs import PlanInputs
from parlai_humaneval.planning.layout import layout
from parlai_humaneval.planning.made_studies import made_studies
from parlai_humaneval.planning.plan import size_of
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.shares import wilson_interval
from parlai_humaneval.statistics.leads import leads, turn_leads
from parlai_humaneval.tables.columns import Tables
from parlai_humaneval.techniques.registry import with_trait

REPLICATES, OF_SLOW = 1_000, 400
"""Studies that are simulated, if nothing is said; of free-for-alls and direct assessments, each of which takes longer."""
_AT_ONCE = 25  # Studies between two words of how many there are


def simulated_power(
    inputs: PlanInputs, *, replicates: int | None = None, on_progress: Callable[[int], None] | None = None
) -> Result:
    """Share of made-up studies of the planned size in which the report finds the gap, with its Wilson interval.

    ``replicates``: how many; None: as :func:`usual_replicates` says.

    Each is made into tidy tables, which the functions of the report read: of several models with Holm's correction over
    all pairs, of which the best and the worst are the gap apart. ``on_progress`` is told how many studies were added.
    Raises PlanError.
    """
    replicates = usual_replicates(inputs) if replicates is None else replicates
    question = inputs.filled()
    found = layout(question)
    n = size_of(question, found)
    made = made_studies(question, found, n)
    of_all = found.tests == 1 and len(made.models) > 2
    models = frozenset(made.models if of_all else (made.models[0], made.models[-1]))
    rng = np.random.default_rng(question.seed)
    hits, left = 0, replicates
    while left:
        size = min(left, made.most, _AT_ONCE)
        hits += _found(made.draw(size, rng), models, question)
        left -= size
        if on_progress:
            on_progress(size)
    return _result(question, hits, replicates, n, made.workers)


def _found(tables: Tables, models: frozenset[str], question: PlanInputs) -> int:
    """In how many of the studies of ``tables``, a question each, the report's test of ``models`` (two, all, or the one)
    finds a difference: by what they are told by, or by the paper's test, which a plan of independent answers is for."""
    # Liu et al. test each pair at a level of its own, uncorrected.
    clustered, alone, alpha = question.clustered, question.method == "liu2023", question.alpha
    tests = (leads if clustered or not len(tables.turns) else turn_leads)(tables, baseline=len(models) == 1)
    hits = 0
    for test in tests:
        if frozenset(test.models) != models:
            continue
        if clustered:
            p = test.told.p_value if alone else test.p_decides(alpha)
        else:
            p = None if test.paper is None else test.paper.p_value if alone else test.paper.p_decides
        hits += p is not None and p < alpha
    return hits


def usual_replicates(inputs: PlanInputs) -> int:
    """Studies that are simulated in a minute or so."""
    slow = inputs.habits.measures == "score" or inputs.technique in with_trait("points")
    return OF_SLOW if slow else REPLICATES


def _result(question: PlanInputs, hits: int, replicates: int, n: int, workers: int) -> Result:
    low, high = wilson_interval(hits, replicates) or (None, None)
    missed = high is not None and high < question.power - SHORT
    note = f"the simulated power does not reach the {question.power:.0%} that were asked for"
    return Result(
        name="simulated power",
        estimate=hits / replicates if replicates else None,
        ci_low=low,
        ci_high=high,
        n=replicates,
        method="share of simulated studies in which the report finds the gap, Wilson interval (Monte Carlo error only)",
        assumptions=(
            "workers are as unequal as asked for",
            "answers of a worker, and of a dialogue, are as correlated as their ICC says",
        ),
        source="beta-binomial (Dirichlet-multinomial) workers, or ordered probit of workers and dialogues",
        notes=(note,) if missed else (),
        details={
            "seed": question.seed,
            "n_workers": workers,
            "n_per_sample": n,
            "icc": question.icc,
            "asked": question.power,
        },
    )
