"""The studies, remedies and limits of the benchmark of false positives. Rates themselves take minutes, and are not here."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from benchmarks.inference import measure, tastes
from benchmarks.inference.crowd import Crowd, any_number, one_pick
from benchmarks.inference.designs import DESIGNS, Design
from benchmarks.inference.measure import QUICK, Found, Layer, measured
from benchmarks.inference.page import page
from benchmarks.inference.promise import Crowded, Share, crowded, refuse_skewed, refuse_wrong, reported
from benchmarks.inference.remedies import GAPS, effective, tried_on
from benchmarks.inference.sums import Arm, Gap, Rate
from benchmarks.inference.tastes import ONCE, TESTS, Tasted, Tastes, tasted
from parlai_humaneval import analysis

ROW = Crowded("sata, pair", 20, True, Share(0.05, 0.005, 300), 0.09, Share(0.8, 0.01, 300), 0.8)


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.name)
def test_a_study_can_be_asked_in_both_ways(design: Design) -> None:
    """Guards every design: remedies give a p-value a study, and so does the public function that the report leads with."""
    studies = design.draw(Crowd(20, heavy=True, icc=0.05, position=design.positions), 0.0, 12, np.random.default_rng(1))
    asked = [studies.ask(study) for study in range(12)]
    assert sum(p is not None and 0 <= p <= 1 for p in asked) >= 10
    for name, remedy in tried_on(studies.sums).items():
        p_values = remedy(np.random.default_rng(2))
        assert p_values.shape == (12,), name
        assert ((p_values >= 0) & (p_values <= 1)).all(), name


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.name)
def test_a_wide_gap_is_found(design: Design) -> None:
    """Guards against arrays that the public function reads askew: it finds a gap that no test can miss."""
    studies = design.draw(Crowd(60, icc=0.05), 0.9 * design.widest, 6, np.random.default_rng(3))
    asked = [studies.ask(study) for study in range(6)]
    # Where a model nearly always wins some fits have no finite strengths, and so no p-value.
    assert all(p < 0.01 for p in asked if p is not None)
    assert any(p is not None for p in asked)


@pytest.mark.parametrize("icc", [0.05, 0.17])
def test_answers_of_a_worker_are_as_alike_as_asked(icc: float) -> None:
    """Guards the likeness of the simulated workers: the intraclass correlation of picks and of likes."""
    crowd, rng = Crowd(40, icc=icc), np.random.default_rng(4)
    sizes = np.full((400, 40), 10)
    picked = one_pick(crowd, sizes, np.full(4, 0.25), rng).sum(axis=2)[..., 0]
    liked = any_number(crowd, sizes, np.array([0.3, 0.6]), rng)[..., 1]
    for values, mean in ((picked, 0.25), (liked, 0.6)):
        assert values.mean() / 10 == pytest.approx(mean, abs=0.01)
        excess = values.var() / (10 * mean * (1 - mean)) - 1
        assert excess / 9 == pytest.approx(icc, abs=0.01)


def test_unequal_workers_weigh_like_half_as_many() -> None:
    """Guards the crowd that the figures are about: its spread, and that nobody has none or more than the most."""
    sizes = Crowd(20, heavy=True).sizes(2_000, 6, np.random.default_rng(5))
    assert sizes.min() == 6
    assert sizes.max() == 150
    assert effective(sizes.astype(float)).mean() == pytest.approx(10, abs=1)


def test_the_sign_flips_agree_with_all_signs() -> None:
    """Guards the random signs and the saddlepoint against the enumeration of all 2¹² signs."""
    rng = np.random.default_rng(6)
    values = rng.normal(0.3, 1, (40, 12))
    gap = Gap(Arm(values, np.ones((40, 12))), null=0.0)
    signs = np.array(list(product((-1.0, 1.0), repeat=12)))
    exact = (np.abs(values @ signs.T) >= np.abs(values.sum(axis=1))[:, None] - 1e-9).mean(axis=1)
    assert GAPS["sign-flip"](gap, rng) == pytest.approx(exact, abs=0.09)
    assert GAPS["sign-flip, saddlepoint"](gap, rng) == pytest.approx(exact, abs=0.03)


def test_the_textbook_t_is_among_the_remedies() -> None:
    """Guards CR1, the measure of all others, and CR2 against Student's t of workers who gave one answer each."""
    rng = np.random.default_rng(7)
    a, b = rng.normal(0.5, 1, (9, 30)), rng.normal(0, 1, (9, 30))
    one = Gap(Arm(a, np.ones_like(a)), null=0.0)
    expected = [analysis.t_test(a[study], b[study]).p_value for study in range(9)]
    counts = np.hstack([np.ones_like(a), np.zeros_like(a)])
    two = Gap(Arm(np.hstack([a, 0 * a]), counts), Arm(np.hstack([0 * b, b]), counts[:, ::-1]))
    from scipy.stats import ttest_1samp

    assert GAPS["CR1 t"](one, rng) == pytest.approx(ttest_1samp(a, 0, axis=1).pvalue)
    assert GAPS["CR2, Bell–McCaffrey df"](one, rng) == pytest.approx(ttest_1samp(a, 0, axis=1).pvalue)
    assert GAPS["CR2, Bell–McCaffrey df"](two, rng) == pytest.approx(np.array(expected, dtype=float), rel=1e-6)


def test_unanimous_workers_do_not_refute_a_high_baseline() -> None:
    """Guards the rates near 1: twenty workers without a failure are no proof against .95, however many turns they gave."""
    counts = np.full((1, 20), 60.0)
    remedies = tried_on(Rate(Arm(counts.copy(), counts), null=0.95))
    rng = np.random.default_rng(8)
    assert remedies["CR1 t"](rng)[0] < 0.001
    assert remedies["Korn–Graubard, likeness held, mid-p"](rng)[0] > 0.2


def test_layers_are_weighted_back_to_all_studies() -> None:
    """Guards the share of the report, which is asked most about the studies that are open."""
    layers = (Layer(0.02, 4, 0, 0), Layer(0.18, 16, 4, 2), Layer(0.8, 4, 0, 0))
    share = reported([Found({"CR1 t": 0.07}, 1_000, 0.05, layers)] * 2)
    assert share.value == pytest.approx(0.05 + 0.18 * 2 / 16)
    assert share.error == pytest.approx(np.sqrt(0.18**2 * (6 / 16 - 1 / 64) / 32 + 0.05 * 0.95 / 2_000))
    assert share.asked == 48


@pytest.mark.parametrize(
    ("row", "wrong"),
    [
        (ROW, False),
        (replace(ROW, report=Share(0.09, 0.005, 300)), True),
        (replace(ROW, report=Share(0.01, 0.005, 300)), True),
        (replace(ROW, report=Share(0.01, 0.005, 300), design="one model against .95"), False),
        (replace(ROW, report=Share(0.09, 0.02, 20)), False),
    ],
)
def test_a_test_that_finds_too_much_or_too_little_fails_the_benchmark(row: Crowded, wrong: bool) -> None:
    """Guards the limits: what leaves them by more than the simulation's error is not reported as if it were fine."""
    if not wrong:
        refuse_wrong([row])
        return
    with pytest.raises(
        RuntimeError, match=f"outside of 0.03 to 0.06: sata, pair, 20 unequal workers {row.report.value:.3f}"
    ):
        refuse_wrong([ROW, row])


def test_the_page_names_every_design_and_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the page of figures: a design or a remedy that was measured is in it."""
    monkeypatch.setattr(measure, "PROCESSES", 1)
    chosen = [0, 4, 7, 15]
    cells = measured(QUICK, chosen)
    text = page(cells)
    assert all(DESIGNS[number].name in text for number in chosen)
    assert all(f"| {name} |" in text for cell in cells for name in cell.null.rates)
    assert {(row.workers, row.heavy) for row in crowded(cells)} == {(20, False), (20, True), (60, False), (60, True)}


@pytest.mark.parametrize("crowd", [Tastes(150, always=0.2), Tastes(150, diligence=0.4), Tastes(50, unequal=False)])
def test_skewed_crowds_have_equal_models_in_the_mean_over_workers(crowd: Tastes) -> None:
    """Guards the null studies of skewed tastes: a typical worker prefers neither model, whatever a typical answer says."""
    turns, chosen = crowd.draw(0.0, 400, np.random.default_rng(9))
    shares = chosen / turns
    assert shares.mean() == pytest.approx(0.5, abs=0.006)
    by_answer = chosen.sum() / turns.sum()
    assert by_answer > 0.53 if crowd.diligence else by_answer == pytest.approx(0.5, abs=0.01)
    assert crowd.draw(0.2, 400, np.random.default_rng(9))[1].mean() > chosen.mean()


def test_counting_every_worker_once_is_refused_where_it_finds_too_much() -> None:
    """Guards the promise of the second column of the table of skewed tastes."""
    row = Tasted(Tastes(20, always=0.1), dict.fromkeys(TESTS, 0.06), dict.fromkeys(TESTS, 0.5))
    refuse_skewed([row])
    with pytest.raises(RuntimeError, match="10% always choose one model 0\\.100"):
        refuse_skewed([replace(row, null={**row.null, ONCE: 0.1})])
    assert all(f"| {name} |" in page([], [row]) for name in TESTS)


def test_what_reports_say_of_skewed_crowds_is_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the columns of the report: the public function decides as the test that is taken for it."""
    monkeypatch.setattr(tastes, "CROWDS", (Tastes(20, always=0.1),))
    (found,) = tasted(studies=40, asked=10)
    assert set(found.null) == set(found.power) == set(TESTS)
