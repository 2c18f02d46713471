"""Made-up studies of a plan: their raters, their tables, and that the report itself tells what is counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parlai_humaneval.planning.designs import ChoiceDesign, TwoScores
from parlai_humaneval.planning.inputs import ask
from parlai_humaneval.planning.layout import layout
from parlai_humaneval.planning.made_studies import (
    MadeStudies,
    answers_of_workers,
    leads_of_dialogues,
    made_studies,
    only,
    shared_out,
    shares_of_workers,
    slider_study,
)
from parlai_humaneval.planning.power import Clustering
from parlai_humaneval.report.registry import sections
from parlai_humaneval.report.section import Options
from parlai_humaneval.report.summary import leading
from parlai_humaneval.statistics.leads import leads, turn_leads
from parlai_humaneval.statistics.ratings.sliders import assessed, score_gaps
from parlai_humaneval.tables.columns import check_unique
from parlai_humaneval.tables.schema import TableName
from parlai_humaneval.techniques.registry import recorded_as


def made(n: int = 90, **question: Any) -> MadeStudies:
    filled = ask(**{"gap": 0.3, **question}).filled()
    return made_studies(filled, layout(filled), n)


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


@pytest.mark.parametrize("icc", [0.02, 0.2, 0.9, 0.999])
def test_answers_have_the_icc(icc: float) -> None:
    """Guards the made-up workers: variance of their sums is that of the ICC, for each kind of answer."""
    chances, sizes = np.array([0.5, 0.3, 0.2]), np.full(400, 10)
    given = answers_of_workers(chances, sizes, icc, 100, np.random.default_rng(1))
    counts = np.stack([(given == kind).reshape(-1, 10).sum(axis=1) for kind in range(3)], axis=1)
    expected = 10 * chances * (1 - chances) * (1 + 9 * icc)
    assert counts.mean(axis=0) == pytest.approx(10 * chances, rel=0.05)
    assert counts.var(axis=0) == pytest.approx(expected, rel=0.06)


def test_shares_that_vanish() -> None:
    """Guards an ICC near 1, with which all weights of a worker may be 0: then one answer has them all."""
    shares = shares_of_workers(np.array([0.5, 0.5]), 0.9999, (4_000,), np.random.default_rng(2))
    assert shares.sum(axis=-1) == pytest.approx(1)
    assert shares.mean(axis=0) == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("design", [ChoiceDesign((0.55, 0.45), 1.0), ChoiceDesign((0.55, 0.45), 0.4)])
def test_leads_are_as_alike_as_asked_for(design: ChoiceDesign, sides: int) -> None:
    """Guards the made-up dialogues: gap, ties, and the variance of sums of a worker and of a dialogue."""
    likeness = Clustering(per_worker=8, icc=0.05, per_dialogue=6, dialogue_icc=0.1, sides=sides)
    rng = np.random.default_rng(3)
    codes = [np.repeat(np.arange(60), 8), *(rng.permutation(np.repeat(np.arange(80), 6)) for _ in range(sides))]
    effects = [rng.standard_normal((3_000, int(code.max()) + 1)) for code in codes]
    found = leads_of_dialogues(design, codes, likeness, effects, rng)
    assert found.mean() == pytest.approx(design.gap, abs=0.005)
    assert (found != 0).mean() == pytest.approx(design.discordance, abs=0.005)
    assert found.mean(axis=1).var() * found.shape[1] / found.var() == pytest.approx(likeness.effect, rel=0.1)


EVERY: list[dict[str, Any]] = [
    {"technique": "pw_turn"},
    {"technique": "pw_turn", "models": 3},
    {"technique": "sata"},
    {"technique": "sata", "setting": "soba", "models": 3},
    {"technique": "single_model", "models": 1, "gap": 0.15},
    {"technique": "single_model", "models": 3},
    {"technique": "free_for_all", "models": 3},
    {"technique": "arena", "models": 3, "worker_inequality": 1.0, "dialogues_per_worker": 3},
    {"technique": "pw_dialog", "models": 3},
    {"technique": "self_chat"},
    {"technique": "spot_the_bot", "models": 3},
    {"technique": "direct_assessment", "models": 3},
]


@pytest.mark.usefixtures("only_answers")
@pytest.mark.parametrize("question", EVERY, ids=lambda question: " ".join(map(str, question.values())))
def test_the_report_tells_what_is_counted(question: dict[str, Any]) -> None:
    """Guards that simulated studies are counted by the report's own verdicts: for each technique a report of the same
    tables leads with these pairs, with the same p and the same choice of whose p decides."""
    tables = made(**question).draw(1, np.random.default_rng(5))
    built = sections(tables, Options(draws=20))
    told = {
        frozenset((pair.first, pair.second)): (pair.p_decides, pair.decided_by)
        for answer in leading([answer for section in built.values() for answer in section.summary()])
        for pair in answer.pairs
    }
    counted = {frozenset(lead.models): lead.p_decides() for lead in leads(tables) if len(lead.models) == 2}
    assert counted.keys() == told.keys()
    for pair, (p, _) in told.items():
        assert counted[pair] == pytest.approx(p, rel=1e-9)
    if question.get("models") == 1:
        (alone,) = leads(tables, baseline=True)
        assert alone.told.p_value == built["turns"].tests[0].test.clustered.p_value  # type: ignore[attr-defined]


@pytest.mark.parametrize("question", EVERY, ids=lambda question: " ".join(map(str, question.values())))
def test_tables_are_those_of_the_technique(question: dict[str, Any]) -> None:
    """Guards the tables: of the technique and its setting, no row twice, as many judgements as planned, and each of several
    studies in a table is a question of its own."""
    study = made(**question)
    tables = study.draw(study.most if study.most < 3 else 3, np.random.default_rng(6))
    names: tuple[TableName, ...] = ("turns", "comparisons", "ratings", "segments")
    (name,) = [name for name in names if len(getattr(tables, name))]
    frame = getattr(tables, name)
    check_unique(name, frame)
    assert set(frame["technique"]) == {recorded_as(question["technique"])}
    models = set(frame["model"]) if "model" in frame else set(frame["model_a"]) | set(frame["model_b"])
    assert models - {"degraded"} == set(study.models)
    assert frame["metric"].nunique() == min(3, study.most) or study.most == 1
    found = (turn_leads if name == "turns" else leads)(tables)
    ends = [lead for lead in found if set(lead.models) == {study.models[0], study.models[-1]} and len(lead.models) == 2]
    assert len(ends) == (0 if len(study.models) == 1 else min(3, study.most))


def test_sliders_are_as_those_of_the_paper() -> None:
    """Guards the made-up ratings of a direct assessment against run 1 of Ji et al. 2022 (workers of six dialogues who
    passed): the gap that was asked for, standardised scores of a dialogue and how alike two of a worker are."""
    filled = ask(technique="direct_assessment", models=5, gap=0.2).filled()
    draw = slider_study(filled, [f"model {number}" for number in range(5)], np.ones(2_000, dtype=np.int64))
    data = assessed(only(ratings=draw(np.random.default_rng(7))))
    assert data is not None
    assert data.n_passed == data.n_workers == 2_000
    gap = score_gaps(data.counted, ["model 0", "model 4"])[0]
    assert gap.superiority.estimate == pytest.approx(0.6, abs=0.015)
    scores = data.counted.groupby(["worker_id", "model"])["z"].mean().unstack()
    assert scores.to_numpy().std() == pytest.approx(0.47, abs=0.04)
    alike = np.corrcoef(scores.to_numpy().T)[np.triu_indices(5, 1)].mean()
    assert alike == pytest.approx(-0.22, abs=0.03)
    assert alike == pytest.approx(TwoScores(0.2, 5).likeness, abs=0.02)
