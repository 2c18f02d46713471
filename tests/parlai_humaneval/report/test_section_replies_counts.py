"""Section ``replies``: each number counts what it says, and nothing twice."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from make_records import make_record, make_turn

from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.replies import ModelReplies, build
from parlai_humaneval.schema.records import DialogueRecord, Mask, Withdrawn
from parlai_humaneval.tables.build import Tables, tables

SHOWN = ("eliza", "my_bot")


def record(turns: int = 2) -> DialogueRecord:
    return make_record("d1", [make_turn(turn, SHOWN, "eliza") for turn in range(1, turns + 1)], models=SHOWN)


def mine(of: DialogueRecord | Tables) -> ModelReplies:
    """What is counted for ``my_bot``."""
    section = build(of if isinstance(of, Tables) else tables([of]), Options())
    assert section is not None
    return next(one for one in section.models if one.model == "my_bot")


@pytest.mark.parametrize(("shown", "counted"), [(True, 1), (False, 0)])
def test_what_was_not_shown_is_neither_hidden_nor_changed_nor_told(shown: bool, counted: int) -> None:
    """Guards all three: a refused reply was masked, changed and named its model, and no rater saw it."""
    study = record()
    mask = Mask(start=0, end=4, original="Damn", replacement="[…]", kind="offensive")
    study.turns[0].candidates[1] = (
        study.turns[0]
        .candidates[1]
        .model_copy(update={"text": "[…], I am ChatGPT.", "masks": [mask], "changes": ["emoji"], "failed": not shown})
    )
    found = mine(study)
    assert (found.n_shown, found.n_masked, found.n_changed, found.n_told) == (1 + counted, counted, counted, counted)
    assert found.changes == ({"emoji": 1} if shown else {})


def test_who_was_asked_again_is_counted_and_said() -> None:
    """Guards against words that were chosen from several tries passing for a model's first ones."""
    study = record()
    study.turns[0].candidates[1].asked_again = [Withdrawn(text="I am ChatGPT.", reason="gives itself away: …")]
    section = build(tables([study]), Options())
    assert section is not None
    assert mine(study).n_asked_again == 1
    assert [
        remark
        for remark in section.remarks
        if remark.startswith("my_bot: 1 of 2 replies were given when the model was asked again")
    ]


def test_a_reply_that_stands_twice_in_the_table_is_one_reply() -> None:
    """Guards tables of one's own, in which a reply has a row for each rating."""
    once = tables([record()])
    twice = replace(once, turns=pd.concat([once.turns, once.turns], ignore_index=True))
    assert mine(twice) == mine(once)
    assert mine(once).n == 2


def test_latencies_are_the_median_and_the_95th_percentile() -> None:
    """Guards the slow replies: they are not the median."""
    study = record(turns=21)
    for second, turn in enumerate(study.turns):
        turn.candidates[1].latency_s = float(second)
    assert (mine(study).latency_median, mine(study).latency_p95) == (10.0, 19.0)


@pytest.mark.parametrize(("given", "named"), [({}, 1), ({"human_suggested": True}, 0), ({"human_fixed": True}, 0)])
def test_an_opening_that_was_offered_is_not_the_raters_own_words(given: dict[str, bool], named: int) -> None:
    """Guards the count of guesses against openings of the study that happen to name a model."""
    study = record()
    study.turns[1] = study.turns[1].model_copy(update={"human_text": "Are you ChatGPT?", **given})
    assert mine(study).n_named == named
