"""The simulation that proves a plan: its workers, its tests, and the promise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parlai_humaneval.planning import simulate
from parlai_humaneval.planning.assumptions import plannable
from parlai_humaneval.planning.designs import Contest, OneShare, TwoScores, TwoShares
from parlai_humaneval.planning.inputs import ask
from parlai_humaneval.planning.likeness import Likeness
from parlai_humaneval.planning.simulate import rejections, shared_out, simulated_power
from parlai_humaneval.planning.study_plan import plan_study
from parlai_humaneval.statistics.choice_tests import cochran_q_test, mcnemar_test
from parlai_humaneval.statistics.clustered import cluster_sums, clustered_share
from parlai_humaneval.statistics.crossed import crossed_share
from parlai_humaneval.statistics.means import clustered_difference, clustered_mean
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.statistics.turn_tests import equal_rates_test

SEEDS = given(seed=st.integers(0, 10_000), workers=st.integers(8, 25))


def unequal(rng: np.random.Generator, workers: int) -> tuple[Any, Any]:
    """Numbers of answers, and the worker of each."""
    sizes = rng.integers(1, 8, workers)
    return sizes, np.repeat(np.arange(workers), sizes)


def decided(result: Result) -> bool:
    """Does the report find something?"""
    assert result.p_value is not None
    return result.p_value < 0.05


@settings(max_examples=30, deadline=None)
@SEEDS
def test_the_test_of_two_models_is_the_reports(seed: int, workers: int) -> None:
    """Guards leads of one model over another: study by study as clustered_mean and clustered_share decide."""
    rng = np.random.default_rng(seed)
    sizes, names = unequal(rng, workers)
    won = np.array([rng.binomial(sizes, rng.uniform(0.3, 0.7)) for _ in range(6)])
    for wins, found in zip(won, simulate._found_lead(2.0 * won - sizes, 0.05), strict=True):
        answers = np.concatenate([np.arange(size) < win for size, win in zip(sizes, wins, strict=True)]).astype(float)
        assert found == decided(clustered_mean(2 * answers - 1, names, null=0, limits=(-1, 1)))
        if 0.2 < wins.sum() / sizes.sum() < 0.8:
            assert found == decided(clustered_share(cluster_sums(wins, sizes, np.arange(workers))))


@settings(max_examples=20, deadline=None)
@SEEDS
def test_the_test_of_one_model_is_the_reports(seed: int, workers: int) -> None:
    """Guards the rate of one model against a baseline, also where it is near 1: as clustered_share decides."""
    rng = np.random.default_rng(seed)
    sizes, _ = unequal(rng, workers)
    won = np.array([rng.binomial(sizes, rate) for rate in (0.6, 0.75, 0.9, 1.0)])
    for wins, found in zip(won, simulate._found_share(won, sizes, 0.8, 0.05), strict=True):
        assert found == decided(clustered_share(cluster_sums(wins, sizes, np.arange(workers)), null=0.8))


@settings(max_examples=15, deadline=None)
@SEEDS
def test_several_models_are_tested_as_in_the_report(seed: int, workers: int) -> None:
    """Guards the test of all models at once: as equal_rates_test decides, but for the chance of the flips."""
    rng = np.random.default_rng(seed)
    _, names = unequal(rng, workers)
    chosen = (rng.random((len(names), 4)) < rng.uniform(0.2, 0.8, 4)).astype(float)
    sums = np.stack([np.bincount(names, weights=column) for column in chosen.T], axis=1)
    test = equal_rates_test(chosen, names)
    assert test.p_value is not None
    if abs(test.p_value - 0.05) > 0.02:
        assert simulate._found_among(sums[None], 0.05)[0] == decided(test)


@settings(max_examples=15, deadline=None)
@SEEDS
def test_two_samples_are_the_reports(seed: int, workers: int) -> None:
    """Guards two models rated one at a time, by different workers and by the same ones, against clustered_difference."""
    rng = np.random.default_rng(seed)
    sizes, names = unequal(rng, workers)
    a, b = rng.normal(0.4, 1, len(names)), rng.normal(0, 1, len(names))
    sums = [np.bincount(names, weights=values)[None] for values in (a, b)]
    for crossed, others in ((False, names + 100), (True, names)):
        test = clustered_difference(a, names, b, others)
        assert simulate._found_difference(*sums, sizes, 0.05, crossed=crossed)[0] == decided(test)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), ties=st.booleans())
def test_reused_dialogues_are_tested_as_in_the_report(seed: int, ties: bool) -> None:
    """Guards the two-way test, study by study as crossed_share decides; where a worker or dialogue has ties only, the
    report has a cluster fewer, which moves p by less than is allowed for here."""
    rng = np.random.default_rng(seed)
    codes = [np.repeat(np.arange(20), 6), *(rng.permutation(np.repeat(np.arange(30), 4)) for _ in range(2))]
    leads = rng.choice(
        [-1.0, 0.0, 1.0] if ties else [-1.0, 1.0], size=(4, 120), p=[0.3, 0.3, 0.4] if ties else [0.4, 0.6]
    )
    for study, found in zip(leads, simulate._found_by_both(leads, codes, 0.05), strict=True):
        test = crossed_share((study > 0).astype(float), (study != 0).astype(float), codes[0], codes[1:])
        assert test.p_value is not None
        if not ties or abs(test.p_value - 0.05) > 0.005:
            assert found == decided(test)


def test_workers_who_all_agree() -> None:
    """Guards studies without variance: the exact sign-flip test decides, so that five workers are too few."""
    for workers, found in ((5, False), (6, True)):
        assert simulate._found_lead(np.full((1, workers), 0.5), 0.05)[0] == found
    assert not simulate._found_lead(np.zeros((1, 9)), 0.05)[0]


@given(n=st.integers(1, 500), workers=st.integers(1, 60))
def test_judgements_are_shared_out(n: int, workers: int) -> None:
    """Guards that all judgements are given, evenly, and that nobody has none."""
    sizes = shared_out(n, workers)
    assert sizes.sum() == n
    assert sizes.min() >= 1
    assert sizes.max() - sizes.min() <= 1


@given(n=st.integers(200, 900), workers=st.integers(20, 60), inequality=st.floats(0.2, 1.5))
def test_judgements_are_shared_out_unequally(n: int, workers: int, inequality: float) -> None:
    """Guards unequal workers: all judgements are given, nobody has none, and they differ as much as was asked for."""
    sizes = shared_out(n, workers, inequality)
    assert sizes.sum() == n
    assert sizes.min() >= 1
    most = np.array([n - workers + 1, *[1] * (workers - 1)])
    assert sizes.std() / sizes.mean() == pytest.approx(min(inequality, most.std() / most.mean()), abs=0.08)


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("design", [Contest((0.55, 0.45), 1.0), Contest((0.55, 0.45), 0.4)])
def test_leads_are_as_alike_as_asked_for(design: Contest, sides: int) -> None:
    """Guards the made-up dialogues: gap, ties, and the variance of sums of a worker and of a dialogue."""
    likeness = Likeness(per_worker=8, icc=0.05, per_dialogue=6, dialogue_icc=0.1, sides=sides)
    rng = np.random.default_rng(3)
    codes = [np.repeat(np.arange(60), 8), *(rng.permutation(np.repeat(np.arange(80), 6)) for _ in range(sides))]
    leads = simulate._ordered_leads(design, codes, likeness, 3_000, rng)
    assert leads.mean() == pytest.approx(design.gap, abs=0.005)
    assert (leads != 0).mean() == pytest.approx(design.discordance, abs=0.005)
    assert leads.mean(axis=1).var() * leads.shape[1] / leads.var() == pytest.approx(likeness.effect, rel=0.1)


@pytest.mark.parametrize("icc", [0.02, 0.2, 0.9, 0.999])
def test_answers_have_the_icc(icc: float) -> None:
    """Guards the made-up workers: variance of their sums is that of the ICC, for each kind of answer."""
    chances = np.array([0.5, 0.3, 0.2])
    sizes = np.full(400, 10)
    counts = simulate._alike(chances, sizes, icc, 100, np.random.default_rng(1)).reshape(-1, 3)
    expected = 10 * chances * (1 - chances) * (1 + 9 * icc)
    assert counts.sum(axis=1) == pytest.approx(10)
    assert counts.mean(axis=0) == pytest.approx(10 * chances, rel=0.05)
    assert counts.var(axis=0) == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize(
    "design",
    [
        Contest((0.5, 0.5), 1.0),
        Contest((0.5, 0.5), 0.6),
        Contest((0.5, 0.5, 0.5, 0.5), 0.5),
        OneShare(0.8, 0.8),
        TwoShares(0.8, 0.8),
    ],
)
@pytest.mark.parametrize("icc", [0.0, 0.1])
def test_level_without_a_gap(design: Contest | OneShare | TwoShares, icc: float) -> None:
    """Guards every test of the simulation: where there is no gap, about 5 % of the studies find one."""
    rng = np.random.default_rng(7)
    found = rejections(design, 240, 40, Likeness(6, icc), 0.05, 4_000, rng).mean()
    assert 0.03 < found < 0.07


def test_level_of_scores() -> None:
    """Guards both tests of scores where the models are equal."""
    for icc in (0.0, 0.3):
        found = rejections(TwoScores(1e-9), 60, 60, Likeness(1, icc), 0.05, 3_000, np.random.default_rng(2)).mean()
        assert 0.035 < found < 0.065


def test_independent_tests_are_the_papers() -> None:
    """Guards the papers' tests in vectorised form: McNemar's and Cochran's, on the same made-up turns."""
    rng, again = np.random.default_rng(11), np.random.default_rng(11)
    design = Contest((0.6, 0.4), 0.7)
    got = rejections(design, 60, 10, Likeness(6, 0.0), 0.05, 200, rng)
    counts = again.multinomial(60, simulate.patterns(design)[1], size=200)
    expected = [(mcnemar_test(int(row[1]), int(row[2])).p_value or 0) < 0.05 for row in counts]
    assert got.tolist() == expected
    several = Contest((0.6, 0.4, 0.5), 0.6)
    got = rejections(several, 60, 10, Likeness(6, 0.0), 0.05, 100, rng)
    chosen, chances = simulate.patterns(several)
    again.bit_generator.state = np.random.default_rng(11).bit_generator.state
    again.multinomial(60, simulate.patterns(design)[1], size=200)
    turns = [np.repeat(chosen, row, axis=0) for row in again.multinomial(60, chances, size=100)]
    assert got.tolist() == [(cochran_q_test(rows).p_value or 0) < 0.05 for rows in turns]
    assert 0.1 < got.mean() < 0.95


HARDER: list[dict[str, Any]] = [
    {"technique": "sata", "models": 4, "gap": 0.1},
    {"technique": "sata", "models": 4, "icc": 0.2},
    {"technique": "sata", "gap": 0.3, "icc": 0.2},
    {"technique": "free_for_all", "models": 5, "dialogues_per_worker": 10},
    {"technique": "single_model", "models": 1, "gap": 0.15},
    {"technique": "direct_assessment", "dialogues_per_worker": 9},
    {"technique": "pw_turn", "worker_inequality": 1.0, "dialogues_per_worker": 3},
    {"technique": "pw_dialog", "dialogue_sd": 0.7},
    {"technique": "pw_dialog", "models": 4},
    {"technique": "spot_the_bot", "dialogue_icc": 0.1, "power": 0.9},
]


@pytest.mark.parametrize("question", [*({"technique": name} for name in plannable()), *HARDER])
def test_the_promise_is_kept_in_simulation(question: dict[str, Any]) -> None:
    """Guards every technique: what its plan promises simulated workers deliver, by the very test of the report, to within
    two standard errors of 4,000 studies."""
    asked = ask(**{"gap": 0.2, "seed": 2, **question})
    found = simulated_power(asked, replicates=4_000)
    assert found.estimate is not None
    assert found.estimate >= asked.power - 2 * math.sqrt(asked.power * (1 - asked.power) / 4_000)
    assert found.estimate == pytest.approx(plan_study(asked).power, abs=0.06)
    assert found.details["n_per_sample"] == plan_study(asked).n_per_sample


def test_a_broken_promise_is_told() -> None:
    """Guards the warning: the paper's 196 turns from alike workers do not have the power, and the note says so."""
    found = simulated_power(ask(technique="pw_turn", gap=0.1, method="liu2023"), replicates=4_000)
    assert found.estimate == pytest.approx(0.772, abs=0.02)
    assert found.notes == ("the simulated power misses the 80% that were asked for",)


def test_seed_and_progress() -> None:
    """Guards that a simulation can be repeated, tells how far it is, and does not depend on the size of its batches."""
    told: list[int] = []
    question = {"technique": "sata", "gap": 0.2, "models": 3}
    first = simulated_power(ask(**question, seed=4), replicates=500, on_progress=told.append)
    assert first == simulated_power(ask(**question, seed=4), replicates=500)
    assert first.details["seed"] == 4
    assert sum(told) == 500
    assert first.estimate != simulated_power(ask(**question, seed=5), replicates=500).estimate
