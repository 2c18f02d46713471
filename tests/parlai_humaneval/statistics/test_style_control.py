"""Leads at equal style: against statsmodels, in simulated studies whose truth is known, and where there is no answer."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import expit

from parlai_humaneval.statistics.preference.paired_answers import style_counts
from parlai_humaneval.statistics.ranking.style_control import (
    FEW,
    LINKED,
    SEPARATED,
    relative_differences,
    style_control,
)


def study(seed, *, raters=30, turns=8, lead=0.0, ties=0.0, pull=3.0, lengths=(48, 30), shape=4):
    """Raters, counts of both sides, who was first, and outcomes; A is longer, and raters differ in what they like."""
    rng = np.random.default_rng(seed)
    n = raters * turns
    workers = np.repeat(np.arange(raters), turns)
    words = rng.poisson(np.array(lengths) * rng.gamma(shape, 1 / shape, (n, 2))) + 1
    bold = rng.poisson(0.5, (n, 2))
    first = rng.integers(0, 2, n)
    likes = rng.normal(0, 0.5, raters)[workers]
    eta = lead + likes + (pull + rng.normal(0, 1, raters)[workers]) * relative_differences(*words.T) + 0.2 * first - 0.1
    outcome = np.where(rng.random(n) < ties, 0, np.where(rng.random(n) < expit(eta), 1, -1))
    return workers, np.stack([words, bold], axis=2).astype(float), first, outcome


def controlled(workers, counts, first, outcome, **given):
    names = ["a"] * len(workers), ["b"] * len(workers)
    sides = counts[:, 0], counts[:, 1]
    return style_control(*names, outcome, workers, sides, names=["words", "bold"], first_shown=first, **given)


def test_estimates_and_clustered_errors_are_those_of_statsmodels():
    """Our maximum and CR1 errors against a binomial GLM with clusters, to six digits."""
    workers, counts, first, outcome = study(1)
    found = controlled(workers, counts, first, outcome)
    marks = relative_differences(counts[:, 0], counts[:, 1])
    marks /= np.sqrt((marks**2).mean(axis=0))
    design = np.column_stack([np.ones(len(workers)), marks, 2 * first - 1])
    model = sm.GLM(outcome > 0, design, family=sm.families.Binomial())
    fitted = model.fit(cov_type="cluster", cov_kwds={"groups": workers, "use_correction": False}, tol=1e-12)
    groups = len(np.unique(workers))
    results = [found.pairs[0].after, *(effect.effect for effect in found.effects)]
    assert [result.estimate for result in results] == pytest.approx(list(fitted.params), abs=1e-6)
    errors = fitted.bse * np.sqrt(groups / (groups - 1))
    assert [result.details["standard_error"] for result in results] == pytest.approx(list(errors), abs=1e-6)
    before = sm.GLM(outcome > 0, design[:, :1], family=sm.families.Binomial()).fit()
    assert found.pairs[0].before.estimate == pytest.approx(before.params[0], abs=1e-6)


def test_a_lead_of_length_alone_is_gone_and_a_real_one_stays():
    """In nine of ten simulated studies; larger simulations are in the docs."""
    of_length = [controlled(*study(seed, ties=0.15)).pairs[0].after.p_value for seed in range(30)]
    real = [controlled(*study(seed, lead=1.2, ties=0.15)).pairs[0].became for seed in range(30)]
    assert np.mean([p >= 0.05 for p in of_length]) >= 0.9
    assert np.mean([became == "kept" for became in real]) >= 0.9


def test_a_lead_with_which_length_only_goes_is_not_gone():
    """Guards that a lead of the model is not put down to a length that is its own and has no effect."""
    of_model = [
        controlled(*study(seed, lead=0.5, pull=0.0, lengths=(63, 30), shape=25)).pairs[0].became for seed in range(30)
    ]
    assert of_model.count("gone") <= 2
    assert of_model.count("cannot tell") >= 10
    of_length = [controlled(*study(seed, raters=40, turns=10)).pairs[0] for seed in range(20)]
    assert np.mean([pair.became == "gone" and pair.changed for pair in of_length]) >= 0.6


def test_the_change_is_that_between_both_fits_also_of_judged_dialogues():
    """Its estimate is before − after, and its error that of both fits together: less than of two that are independent."""
    workers, counts, first, outcome = study(6)
    of_dialogues = [np.arange(len(workers)) % 40 + start for start in (0, 100)]
    for given in ({}, {"dialogues": tuple(of_dialogues)}):
        (pair,) = controlled(workers, counts, first, outcome, **given).pairs
        assert pair.change.estimate == pytest.approx(pair.before.estimate - pair.after.estimate)
        before, after, change = (one.details["standard_error"] for one in (pair.before, pair.after, pair.change))
        assert abs(before - after) <= change < np.hypot(before, after)


def test_sides_turned_round_give_the_mirror():
    workers, counts, first, outcome = study(2, ties=0.2)
    one = controlled(workers, counts, first, outcome)
    names = ["b"] * len(workers), ["a"] * len(workers)
    sides = counts[:, 1], counts[:, 0]
    two = style_control(*names, -outcome, workers, sides, names=["words", "bold"], first_shown=1 - first)
    assert two.pairs[0].after.estimate == pytest.approx(one.pairs[0].after.estimate)
    assert two.pairs[0].words_a == one.pairs[0].words_a
    assert two.effects[0].double.estimate == pytest.approx(one.effects[0].double.estimate)


def test_where_there_is_no_answer_it_says_why():
    """Raters fewer than terms, a model that always wins, and a length that goes with the model."""
    workers, counts, first, outcome = study(3)
    assert controlled(workers % 3, counts, first, outcome).why == FEW
    assert controlled(workers, counts, first, np.ones_like(outcome)).why == LINKED
    same = np.ones_like(counts) * [[[2.0, 0.0], [1.0, 0.0]]]
    alone = style_control(
        ["a"] * len(workers), ["b"] * len(workers), outcome, workers, (same[:, 0], same[:, 1]), names=["words", "bold"]
    )
    assert (alone.why, tuple(alone.left_out), alone.pairs) == (SEPARATED, ("words", "bold", "shown first"), [])
    assert alone.left_out == {"words": "confounded", "bold": "few", "shown first": "unknown"}


def test_a_mark_that_always_wins_leaves_length_and_place():
    """A rare mark without exception has no finite effect, and does not cost the rest."""
    workers, counts, first, outcome = study(4)
    counts[:, :, 1] = 0
    counts[:25, 0, 1], outcome[:25] = 1, 1
    found = controlled(workers, counts, first, outcome)
    assert found.left_out == {"bold": "winning"}
    assert [effect.feature for effect in found.effects] == ["words", "shown first"]


def test_counts_are_refused_where_they_are_none():
    workers, counts, first, outcome = study(5)
    with pytest.raises(ValueError, match="styles need a count"):
        controlled(workers, -counts, first, outcome)


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("", (1, 0, 0, 0)),
        ("A  reply\tof four", (4, 0, 0, 0)),
        ("1. one\n2) two\n\n  * three", (6, 3, 0, 0)),
        ("## Title\n#hashtag **bold** and __this__", (6, 0, 1, 2)),
        ("```\n# code\n- x\n```", (6, 0, 0, 0)),
        ("这很有趣", (3, 0, 0, 0)),
        ("2*3*4 - 1", (3, 0, 0, 0)),
    ],
)
def test_what_is_counted_of_a_reply(text, counts):
    assert style_counts(text) == counts
