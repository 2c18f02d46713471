"""What is odd in a table of turns is said, and what is not odd is not."""

from __future__ import annotations

from typing import Any

import pytest
from make_live_records import make_choice, make_choices, make_ticked
from make_records import make_study

from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.turn_choices import build
from parlai_humaneval.statistics.preference.turn_dependence import data_warnings
from parlai_humaneval.tables.build import Tables, tables
from parlai_humaneval.tables.choices import choice_groups
from parlai_humaneval.tables.columns import from_rows


def rows_of(
    dialogues: int, turns: int, models: tuple[str, ...] = ("big", "small"), **more: Any
) -> list[dict[str, Any]]:
    """Exchange columns; the models win in turn, so that no turn lacks a choice."""
    return [
        {
            "dialogue_id": f"d{dialogue}",
            "worker_id": f"w{dialogue}",
            "technique": "pw_turn",
            "setting": "",
            "metric": "fun",
            "turn": turn,
            "model": model,
            "position": place,
            "selected": int((dialogue + turn + place) % len(models) == 0),
            "continued": 0,
            "written": 0,
            "seconds": 4.0,
            **more,
        }
        for dialogue in range(dialogues)
        for turn in range(1, turns + 1)
        for place, model in enumerate(models, start=1)
    ]


def tables_of(rows: list[dict[str, Any]]) -> Tables:
    return Tables(from_rows("turns", rows), from_rows("dialogues", []), from_rows("comparisons", []))


def section_of(rows: list[dict[str, Any]]) -> Any:
    return build(tables_of(rows), Options())


@pytest.mark.parametrize(
    "found",
    [
        tables(make_study(4)),
        tables(make_choices({"a": 0.6, "b": 0.4, "c": 0.3}, workers=5)),
        tables(make_choices({"a": 0.6, "b": 0.4, "c": 0.3}, workers=5, setting="soba", one_pick=True)),
        tables([make_ticked("d1", [["engaging"], []], model="a"), make_choice("d2", [("a", "b"), ()])]),
        tables_of(rows_of(6, 3)),
        tables_of(rows_of(6, 3, ("big",), technique="single_model")),
        tables_of([]),
    ],
    ids=["pairs", "any", "soba", "ticks", "elsewhere", "single", "none"],
)
def test_what_is_right_is_not_odd(found: Tables):
    """Our own tables, and plain ones from elsewhere."""
    assert data_warnings(found.turns) == []


def test_nothing_chosen_is_said_where_one_has_to_be():
    """All turns, one turn, and turns that nobody answered; where any number may be chosen, none is an answer."""
    never = rows_of(6, 3, selected=0)
    assert data_warnings(from_rows("turns", never)) == [
        "pw_turn, fun: raters must choose a reply, but did not choose any in 18 of 18 turns, so these turns are not "
        "counted. Check the column selected."
    ]
    section = section_of(never)
    assert section.models == []
    assert "did not choose any" in section.headline
    assert section.remarks[0] == data_warnings(from_rows("turns", never))[0]
    once = [{**row, "selected": 0} if (row["dialogue_id"], row["turn"]) == ("d2", 1) else row for row in rows_of(6, 3)]
    (said,) = data_warnings(from_rows("turns", once))
    assert "did not choose any in 1 of 18 turns" in said
    untimed = [{**row, "seconds": None} if not row["selected"] and row["turn"] == 1 else row for row in once]
    left = [row for row in untimed if (row["dialogue_id"], row["turn"]) != ("d2", 1)]
    gone = [{**row, "seconds": None} for row in once if (row["dialogue_id"], row["turn"]) == ("d2", 1)]
    same = [{**row, "seconds": 4.0} for row in left]
    assert data_warnings(from_rows("turns", same + gone)) == []
    assert data_warnings(from_rows("turns", [{**row, "technique": "sata"} for row in never])) == []
    assert data_warnings(from_rows("turns", [{**row, "written": 1} for row in never])) == []


def test_one_model_is_no_choice():
    """It was not "found good": nothing could be chosen. With others beside it, those count."""
    alone = rows_of(6, 3, ("big",), selected=1)
    section = section_of(alone)
    assert section.models == []
    assert (
        "6 dialogues have only one model, although raters choose one of several replies, so 18 turns in them"
        in section.headline
    )
    others = [{**row, "dialogue_id": f"e{row['dialogue_id']}"} for row in rows_of(6, 3)]
    section = section_of([*alone, *others])
    assert {row.kind for row in section.models} == {"one"}
    assert {row["n"] for row in section.models} == {18}
    assert any("only one model" in remark for remark in section.remarks)
    itself = rows_of(6, 3, ("big", "big"))
    assert data_warnings(from_rows("turns", itself)) == []


def test_a_misspelt_model_is_named_and_does_not_come_first():
    """The one dialogue with a third name is a group of its own, after the many."""
    rows = [
        {**row, "model": "bgi"} if (row["dialogue_id"], row["turn"], row["model"]) == ("d0", 3, "big") else row
        for row in rows_of(8, 5)
    ]
    (said,) = data_warnings(from_rows("turns", rows))
    assert "in 1 turn, the models differ" in said
    assert "dialogue d0 has bgi, small in turn 3, elsewhere big, small" in said
    assert [group.models for group in choice_groups(tables_of(rows))] == [["big", "small"], ["bgi", "big", "small"]]
    section = section_of(rows)
    assert section.models[0].group == "big – small"
    assert said in section.remarks


def test_a_reply_that_lacks_is_named():
    """A row was lost: 15 turns against 14."""
    rows = rows_of(5, 3)
    lost = next(place for place, row in enumerate(rows) if row["dialogue_id"] == "d1" and not row["selected"])
    gone = rows.pop(lost)
    (said,) = data_warnings(from_rows("turns", rows))
    assert f"dialogue d1 has no reply of {gone['model']} in turn {gone['turn']}" in said
    assert said.startswith("pw_turn, fun: in 1 turn, some models have no reply")


def test_many_are_counted():
    """A remark stays short."""
    rows = [row for row in rows_of(9, 4) if not (row["turn"] == 2 and row["model"] == "small")]
    said = next(text for text in data_warnings(from_rows("turns", rows)) if "some models have no reply" in text)
    assert "9 turns" in said
    assert said.count("has no reply") == 3
    assert "and 6 more" in said


def test_groups_with_most_dialogues_come_first():
    """Not the first of the alphabet; other metrics stay in the order of their names."""
    rows = [*rows_of(2, 2, ("a", "b")), *rows_of(5, 2, ("x", "y"))]
    rows = [{**row, "dialogue_id": f"{row['dialogue_id']}{row['model'] in ('x', 'y')}"} for row in rows]
    later = [{**row, "metric": "zest", "dialogue_id": f"z{row['dialogue_id']}"} for row in rows_of(9, 2, ("a", "b"))]
    groups = choice_groups(tables_of([*later, *rows]))
    assert [(group.metric, group.models) for group in groups] == [
        ("fun", ["x", "y"]),
        ("fun", ["a", "b"]),
        ("zest", ["a", "b"]),
    ]
