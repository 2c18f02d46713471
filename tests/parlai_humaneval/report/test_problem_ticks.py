"""Ticks that say what is wrong with a reply are never “found good”: fewer is better."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from make_live_records import make_ticked

from parlai_humaneval.report.build import build_report
from parlai_humaneval.report.section import Options
from parlai_humaneval.schema.records import CriterionRecord
from parlai_humaneval.tables.build import tables
from parlai_humaneval.tables.choices import choice_groups
from parlai_humaneval.tables.schema import is_problem

OPTIONS = Options(draws=50)


def study(name: str, *, reversed_tick: bool = False):
    """Replies of b get the tick three times as often as those of a."""
    rng = np.random.default_rng(1)
    records = [
        make_ticked(
            f"{model}-{worker}",
            [[name] if rng.random() < chance else [] for _ in range(8)],
            model=model,
            worker=f"w{worker}",
        )
        for model, chance in (("a", 0.2), ("b", 0.6))
        for worker in range(14)
    ]
    for record in records:
        record.turn_criteria = [CriterionRecord(name=name, text="?", scale="tick", reversed=reversed_tick)]
    return tables(records)


@pytest.mark.usefixtures("only_answers")
@pytest.mark.parametrize(("name", "reversed_tick"), [("contradiction", False), ("odd", True)])
def test_the_model_with_fewer_problems_leads(name, reversed_tick):
    """By the name of the tick, or as the study says; in the verdict, the ranks, the pair and its superiority."""
    document = build_report(study(name, reversed_tick=reversed_tick), OPTIONS)
    section, (answer,) = document.sections["turns"], document.sections["turns"].summary()
    assert "found good" not in answer.verdict
    assert answer.verdict.startswith(f"a was marked as {name} in")
    assert answer.what == f"replies marked as {name} (fewer is better)"
    rates = {row.model: row.rate.estimate for row in section.models}
    assert [(row.model, row.rank) for row in section.models] == [("a", 1), ("b", 2)]
    assert rates["a"] < rates["b"]
    (pair,) = answer.pairs
    assert (pair.first, pair.second) == ("a", "b")
    assert pair.gap == pytest.approx(rates["b"] - rates["a"])
    assert pair.superiority == pytest.approx(0.5 + (rates["b"] - rates["a"]) / 2)
    assert pair.superiority_low < pair.superiority < pair.superiority_high
    assert any("fewer is better" in remark for remark in answer.remarks)
    (effective,) = [row for row in section.effective if row.score == "share" and row.first_turn == 1]
    assert effective.rate.estimate > 0.5, "dialogues of a have fewer problems"
    assert not any("0.8" in row.test.paper.name for row in section.tests), "80 % with a problem is no baseline"


@pytest.mark.usefixtures("only_answers")
def test_good_ticks_lead_as_ever():
    """The same answers to a question after something good: the model with more of it leads."""
    (answer,) = build_report(study("interesting"), OPTIONS).sections["turns"].summary()
    assert answer.verdict.startswith("b was found good in")
    assert answer.pairs[0].first == "b"
    assert not any("fewer is better" in remark for remark in answer.remarks)


def test_the_table_has_the_last_word():
    """A tick whose name says nothing is a problem where the column says so; and one that is called so is none."""
    data = study("odd", reversed_tick=True)
    assert data.turns["tick_problems"].unique().tolist() == ["odd"]
    assert [group.problem for group in choice_groups(data)] == [True]
    none = replace(data, turns=data.turns.assign(tick_problems=""))
    assert [group.problem for group in choice_groups(none)] == [False]


def test_names_of_problems():
    """Those of ParlAI's buckets and of ABC-Eval; what is not known is neither, unless it stands among problems."""
    problems = ("contradiction", "Self-contradiction", "nonsensical", "repetitive", "bucket_3", "off topic", "ignoring")
    assert all(map(is_problem, problems))
    good = ("engaging", "human-like", "interesting", "appropriate", "consistent", "knowledgeable", "factually correct")
    assert not any(is_problem(name, otherwise=True) for name in good)
    assert (is_problem("surprising"), is_problem("surprising", otherwise=True)) == (False, True)
