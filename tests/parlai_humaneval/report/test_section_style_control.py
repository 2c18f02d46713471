"""Sections on what explains a lead: texts are found wherever they are, and sentences say what the numbers do."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from make_comparisons import comparisons_frame
from make_judgements import make_pairs
from rich.console import Console

from parlai_humaneval.report.registry import sections
from parlai_humaneval.report.render.terminal import table_lines
from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections import by_group, style_control
from parlai_humaneval.report.views import cell_text, interval_text
from parlai_humaneval.statistics.core.formatting import p_cell
from parlai_humaneval.statistics.preference.paired_answers import paired_answers, styles_of, values_of
from parlai_humaneval.tables.build import tables
from parlai_humaneval.tables.columns import TableError, from_rows, typed


def turns_with_texts(*, raters=20, turns=10, longer_wins=0.9, topics=("art", "law"), texts=True):
    """Per-turn pairs in which the longer reply is chosen, and that of ``long`` is the longer one in three of four."""
    rng, rows, dialogues = np.random.default_rng(0), [], []
    for rater in range(raters):
        about = {"dialogue_id": f"d{rater}", "worker_id": f"w{rater}", "technique": "pw_turn", "setting": ""}
        dialogues.append({**about, "n_turns": turns, "complete": 1, "topic": topics[rater % len(topics)]})
        for turn in range(turns):
            sizes = {"long": rng.integers(10, 60), "short": rng.integers(5, 35)}
            longest = max(sizes, key=sizes.get)
            picked = longest if rng.random() < longer_wins else min(sizes, key=sizes.get)
            for place, model in enumerate(rng.permutation(list(sizes))):
                row = {"metric": "preference", "turn": turn + 1, "model": model, "position": place + 1}
                row |= {"selected": int(model == picked), "continued": int(model == picked), "written": 0}
                said = {"text": " ".join(["word"] * sizes[model])} if texts else {}
                rows.append({**about, **row, **said, "complete": 1, "human_text": "Hi!"})
    return replace(tables([]), turns=from_rows("turns", rows), dialogues=from_rows("dialogues", dialogues))


def test_a_lead_of_length_is_told_in_the_section_and_in_short():
    section = style_control.build(turns_with_texts(), Options())
    (pair,) = section.pairs
    assert pair.became == pair["became"] == "gone"
    assert "the lead of long over short" in section.headline
    assert section.in_short() == [section.headline]
    assert [effect.feature for effect in section.effects] == ["words", "shown first"]
    assert section.effects[0].double.estimate > 0.6
    assert {table.key for table in section.data_tables()} == {"style_control_pairs", "style_control_effects"}


def test_a_lead_that_length_only_goes_with_stays_out_of_the_summary():
    """Guards that no note claims that length explains a lead where the answers cannot say so."""
    given = turns_with_texts()
    rng, turns = np.random.default_rng(1), given.turns.copy()
    words = np.where(turns["model"] == "long", 60, 20) + rng.integers(0, 5, len(turns))
    turns["text"] = [" ".join(["word"] * size) for size in words]
    section = style_control.build(replace(given, turns=turns), Options())
    assert [pair.became for pair in section.pairs] == ["cannot tell"]
    assert section.in_short() == []
    assert "do not show whether style explains the lead of long over short" in section.headline


def test_a_narrow_terminal_shows_what_is_left_of_the_lead():
    """p and interval at equal style, and no more than one decimal of words; the note says why p as rated is another one."""
    table = style_control.build(turns_with_texts(), Options()).data_tables()[0]
    console = Console(width=80, record=True, file=io.StringIO())
    for part in table_lines(table, 80):
        console.print(part)
    shown = " ".join(console.export_text().split())
    after = table.rows[0]
    assert interval_text(after["chance_after_low"], after["chance_after_high"], "share") in shown
    assert p_cell(after["p_after_holm"]) in shown
    kinds = {column.key: column.kind for column in table.columns}
    assert cell_text(62.269, kinds["words_a"]) == "62.3"
    assert any("table of pairs" in note for note in table.notes)


def test_without_texts_nothing_is_added():
    """Guards reports of tables without texts: no section, no remark."""
    found = sections(turns_with_texts(texts=False, topics=("art",)))
    assert {"style_control", "by_group"} & set(found) == set()


def test_of_judged_dialogues_all_lines_of_the_model_are_one_reply():
    given = tables(make_pairs({"a": 0.7, "b": 0.3}))
    answers = paired_answers(given)
    (shown,) = (
        one for one in json.loads(given.judgements["shown"].iloc[0]) if one["dialogue_id"] == answers["dialogue_a"][0]
    )
    said = [line["text"] for line in shown["lines"] if shown["entities"][line["speaker"]] == answers["model_a"][0]]
    first, second = styles_of(given, answers)
    assert first[0, 0] == sum(len(text.split()) for text in said)
    assert not np.isnan(second).any()


def test_texts_of_comparisons_from_elsewhere_go_with_their_model():
    """Also where the second model comes first in the alphabet, and where a cell holds messages."""
    frame = comparisons_frame({("a", "b"): 0.5}, n=30)
    messages = [{"role": "user", "content": "x y z"}, {"role": "assistant", "content": [{"text": "one two"}]}]
    said = {"a": json.dumps(messages), "b": "one two three"}
    frame = frame.assign(**{f"response_{side}": frame[f"model_{side}"].map(said) for side in "ab"})
    given = replace(tables([]), comparisons=typed("comparisons", frame))
    first, second = styles_of(given, paired_answers(given))
    assert set(first[:, 0]) == {2.0}
    assert set(second[:, 0]) == {3.0}


def test_turns_of_two_tables_count_once():
    """Comparisons of turns repeat what the table of turns has."""
    given = turns_with_texts(raters=3)
    rows = paired_answers(given)
    again = [
        {"item_id": f"{row.dialogue_a}:{row.turn:g}", "worker_id": row.worker_id, "metric": "preference"}
        | {"model_a": "long", "model_b": "short", "dialogue_a": row.dialogue_a, "dialogue_b": row.dialogue_a}
        | {"winner": "long", "technique": "pw_turn", "setting": "", "turn": int(row.turn)}
        for row in rows.itertuples()
    ]
    both = replace(given, comparisons=from_rows("comparisons", again))
    pd.testing.assert_frame_equal(paired_answers(both), rows)


def test_groups_that_differ_are_named_and_the_best_is_not_to_be_read():
    given = turns_with_texts(longer_wins=1.0)
    turned = given.turns["dialogue_id"].isin([f"d{rater}" for rater in range(0, 20, 2)])
    turns = given.turns.assign(selected=given.turns["selected"].where(~turned, 1 - given.turns["selected"]))
    section = by_group.build(replace(given, turns=turns), Options())
    (test,) = section.tests
    assert (test.by, test.groups, test.differs) == ("topic", 2, True)
    assert "depends on topic" in section.headline
    assert section.remarks[0].startswith("Do not single out the group")
    assert [rate.value for rate in section.rates] == ["art", "law"]
    assert section.figures()


@pytest.mark.parametrize("groups", [12, 13])
def test_too_many_groups_are_not_said_to_be_small(groups: int):
    vote = {"metric": "m", "model_a": "a", "model_b": "b", "winner": "a"}
    votes = [vote | {"item_id": f"{topic}-{n}", "worker_id": f"w{n}"} for topic in range(groups) for n in range(10)]
    table = from_rows("comparisons", votes).assign(theme=[f"t{n // 10}" for n in range(len(votes))])
    section = by_group.build(replace(turns_with_texts(), comparisons=table), Options(by=("theme", "opener")))
    assert bool(section.tests) == (groups == 12)
    assert ("Groups by theme are not compared: 13 are large enough, but at most 12" in section.headline) == (
        groups == 13
    )
    assert ("No two groups by opener are large enough" in section.headline) == (groups == 13)


def test_any_column_can_group_and_an_unknown_one_is_an_error():
    given = turns_with_texts()
    assert set(values_of(given, paired_answers(given), "opener")) == {"Hi!"}
    section = by_group.build(given, Options(by=("opener",)))
    assert section.tests == []
    assert "opener" in section.headline
    with pytest.raises(TableError, match=r"column 'topik'\. Did you mean topic\?") as refused:
        by_group.build(given, Options(by=("topik",)))
    assert "topic" in refused.value.try_[0].split(": ")[1].split(", ")


def test_only_what_the_regression_has_is_said_to_be_equal():
    """Guards the headline, the top, the methods and the notes: no side is known, and no reply has any formatting."""
    given = turns_with_texts()
    known = style_control.build(given, Options())
    frame = comparisons_frame({("long", "short"): 0.6}, n=200)
    frame["side"] = ""
    rng = np.random.default_rng(0)
    for side in "ab":
        frame[f"response_{side}"] = [" ".join(["word"] * size) for size in rng.integers(5, 60, len(frame))]
    unknown = style_control.build(replace(tables([]), comparisons=typed("comparisons", frame)), Options())
    assert [effect.feature for effect in unknown.effects] == ["words"]
    for section, has_place in ((known, True), (unknown, False)):
        text = [section.headline, *section.in_short(), *(part.text for part in section.methods())]
        text += [note for table in section.data_tables() for note in table.notes]
        text += [line for line in section.remarks if "could not be controlled" not in line]
        said = " ".join(text)
        assert ("at equal length and position" in said, "position" in said) == (has_place, has_place)
        assert ("shown first" in said) == has_place
        assert "headers" not in said
    (left_out,) = (line for line in unknown.remarks if "could not be controlled" in line)
    assert "position (no answer says which reply was shown first)" in left_out
    assert all(
        f"{mark} (in fewer than 20 answers, the two replies differ in this feature" in left_out
        for mark in ("list items", "headers", "bold")
    )
