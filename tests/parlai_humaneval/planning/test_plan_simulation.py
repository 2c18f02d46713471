"""The simulation that proves a plan: its workers, its tests, and the promise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parlai_humaneval.planning import simulate
from parlai_humaneval.planning.designs import Contest, OneShare, TwoScores, TwoShares
from parlai_humaneval.planning.inputs import ask
from parlai_humaneval.planning.likeness import Likeness
from parlai_humaneval.planning.simulate import found_by_f, rejections, shared_out, simulated_power
from parlai_humaneval.planning.study_plan import plan_study
from parlai_humaneval.statistics.choice_tests import cochran_q_test, mcnemar_test
from parlai_humaneval.statistics.clustered import cluster_sums, clustered_share
from parlai_humaneval.statistics.means import clustered_difference, clustered_mean
from parlai_humaneval.statistics.turn_tests import equal_rates_test


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), workers=st.integers(3, 20))
def test_the_test_is_the_reports(seed: int, workers: int) -> None:
    """Guards the vectorised clustered test: study by study it decides as clustered_mean and clustered_share do."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 8, workers)
    won = [rng.binomial(sizes, rng.uniform(0.3, 0.9)) for _ in range(6)]
    n = sizes.sum()
    names = np.repeat(np.arange(workers), sizes)
    for wins in won:
        mean = wins.sum() / n
        influence = (wins - mean * sizes) / n
        got = found_by_f(np.array([[mean - 0.5]]), influence[None, :, None], 0.05)[0]
        share = clustered_share(cluster_sums(wins, sizes, np.arange(workers)))
        assert share.p_value is not None
        assert got == (share.p_value <= 0.05)
        answers = np.concatenate([np.arange(size) < win for size, win in zip(sizes, wins, strict=True)]).astype(float)
        test = clustered_mean(answers, names, null=0.5)
        assert test.p_value is not None
        assert got == (test.p_value <= 0.05)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), workers=st.integers(4, 25))
def test_several_models_are_tested_as_in_the_report(seed: int, workers: int) -> None:
    """Guards the test of all models at once: study by study it decides as equal_rates_test does."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 8, workers)
    names = np.repeat(np.arange(workers), sizes)
    chosen = (rng.random((len(names), 4)) < rng.uniform(0.2, 0.8, 4)).astype(float)
    differences = chosen[:, :-1] - chosen[:, -1:]
    mean = differences.mean(axis=0)
    sums = np.stack([np.bincount(names, weights=column) for column in (differences - mean).T], axis=1)
    test = equal_rates_test(chosen, names)
    got = found_by_f(mean[None], (sums / len(names))[None], 0.3)[0]
    assert got == (test.p_value is not None and test.p_value < 0.3)


def test_two_samples_are_the_reports() -> None:
    """Guards the difference of two models that are rated by different workers, against clustered_difference."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        a, b = rng.binomial(6, 0.75, 9), rng.binomial(6, 0.55, 9)
        influence = np.concatenate([(a - a.mean()) / 54, -(b - b.mean()) / 54])
        got = found_by_f(np.array([[(a.sum() - b.sum()) / 54]]), influence[None, :, None], 0.05)[0]
        answers = [np.concatenate([np.arange(6) < win for win in wins]).astype(float) for wins in (a, b)]
        workers = np.repeat(np.arange(9), 6)
        test = clustered_difference(answers[0], workers, answers[1], workers + 100)
        assert test.p_value is not None
        assert got == (test.p_value <= 0.05)


def test_workers_who_all_agree() -> None:
    """Guards studies without variance: the exact sign-flip test decides, so that five workers are too few."""
    for workers, found in ((5, False), (6, True)):
        assert found_by_f(np.array([[0.5]]), np.zeros((1, workers, 1)), 0.05)[0] == found
    assert not found_by_f(np.array([[0.0]]), np.zeros((1, 9, 1)), 0.05)[0]
    assert not found_by_f(np.array([[0.5, 0.5]]), np.zeros((1, 9, 2)), 0.05)[0], "of several differences: no test"


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


@pytest.mark.parametrize(
    "question",
    [
        {"technique": "pw_turn"},
        {"technique": "pw_turn", "gap": 0.3, "icc": 0.2},
        {"technique": "sata", "models": 4, "icc": 0.1},
        {"technique": "sata", "gap": 0.3, "icc": 0.2},
        {"technique": "single_model"},
        {"technique": "single_model", "models": 1, "gap": 0.15},
        {"technique": "free_for_all", "models": 5, "dialogues_per_worker": 10},
        {"technique": "direct_assessment", "dialogues_per_worker": 9},
        {"technique": "spot_the_bot", "power": 0.9},
        {"technique": "pw_dialog"},
    ],
)
def test_the_promise_is_kept_in_simulation(question: dict[str, Any]) -> None:
    """Guards the plan itself: what it promises, simulated workers deliver, but for Monte Carlo error."""
    asked = ask(**{"gap": 0.2, **question})
    found = simulated_power(asked, replicates=4_000)
    assert found.ci_high is not None
    assert found.estimate is not None
    assert found.ci_high >= asked.power
    assert not found.notes
    assert found.estimate == pytest.approx(plan_study(asked).power, abs=0.05)
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
