"""Which turns count, and what was asked in them, from our own tables and from tables from elsewhere."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from make_live_records import make_choice, make_choices, make_ticked
from make_records import make_study

from parlai_humaneval.tables.build import Tables, tables
from parlai_humaneval.tables.choices import choice_groups, self_comparisons
from parlai_humaneval.tables.columns import from_rows
from parlai_humaneval.tables.files import read_tables, write_tables
from parlai_humaneval.tables.schema import TABLES


def exchanged(found, folder):
    """The same tables with the exchange columns only, by way of files."""
    folder.mkdir(exist_ok=True)
    for name in ("turns", "dialogues"):
        columns = [column.name for column in TABLES[name] if column.exchange]
        getattr(found, name)[columns].to_csv(folder / f"{name}.csv", index=False)
    return read_tables(folder)


def turns_of(picks, *, models=("a", "b"), technique="study", setting="", metric="preference", seconds=5, more=None):
    """Exchange rows: ``picks`` has an entry a turn, the models chosen; each dialogue has one turn and worker of its own."""
    return [
        {
            "dialogue_id": f"d{number}",
            "worker_id": f"w{number}",
            "technique": technique,
            "setting": setting,
            "metric": metric,
            "turn": 1,
            "model": model,
            "position": place,
            "selected": int(model in picked),
            "continued": 0,
            "written": 0,
            "seconds": seconds,
            **(more or {}),
        }
        for number, picked in enumerate(picks)
        for place, model in enumerate(models, start=1)
    ]


def groups_of(rows):
    return choice_groups(
        Tables(
            turns=from_rows("turns", rows),
            dialogues=from_rows("dialogues", []),
            comparisons=from_rows("comparisons", []),
        )
    )


@pytest.mark.parametrize(
    "records",
    [
        make_study(4),
        make_choices({"a": 0.6, "b": 0.4, "c": 0.3}, workers=5),
        make_choices({"a": 0.6, "b": 0.4, "c": 0.3}, workers=5, setting="soba", one_pick=True),
        [
            make_choice("d1", [("a",), ("b",)], status="complete"),
            make_choice("d2", [("a",)], worker="w2", status="partial"),
        ],
    ],
    ids=["pairs", "any", "one", "unfinished"],
)
def test_exchange_columns_give_the_same_turns(records, tmp_path):
    """What is read from the columns that every table has equals what our own full tables give."""
    whole = tables(records)
    (own,), (other,) = choice_groups(whole), choice_groups(exchanged(whole, tmp_path))
    assert (own.family, own.kind, own.models) == (other.family, other.kind, other.models)
    assert np.array_equal(own.turns.chosen, other.turns.chosen, equal_nan=True)
    assert np.array_equal(own.positions, other.positions, equal_nan=True)
    assert own.turns.workers.tolist() == other.turns.workers.tolist()
    assert own.unfinished_turns == other.unfinished_turns


def test_positions_belong_to_models():
    """Where each reply stood, turn by turn."""
    shown = [["b", "a"], ["a", "b"]]
    record = make_choice("d1", [("a",), ("a",)], shown=shown)
    (group,) = choice_groups(tables([record]))
    assert group.models == ["a", "b"]
    assert group.positions.tolist() == [[2, 1], [1, 2]]
    assert group.turns.by_position.tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    ("picks", "setting", "kind"),
    [
        (["a", "b", "a"], "", "one"),
        (["a", "ab", "a"], "", "any"),
        (["a", "", "a"], "", "any"),
        (["a", "b", "a"], "sata_user", "any"),
        (["a", "", "a"], "soba", "one"),
        (["a", "ab", "a"], "soba", "any"),
    ],
)
def test_one_pick_or_any_number(picks, setting, kind):
    """By the setting's name where it has one and the data do not contradict, else by the data."""
    (group,) = groups_of(turns_of(picks, setting=setting))
    assert group.kind == kind


def test_equal_replies_that_are_shown_once_are_one_pick():
    """Both models have the same place and are picked together: raters still picked one reply."""
    rows = [{**row, "position": 1} if row["dialogue_id"] == "d0" else row for row in turns_of(["ab", "a", "b"])]
    (group,) = groups_of(rows)
    assert group.kind == "one"
    assert group.turns.chosen.tolist() == [[1, 1], [1, 0], [0, 1]]


def test_turns_that_were_not_answered():
    """None chosen is an answer; with no time, though others have one, it is none. Who must pick one did not answer."""
    answered = turns_of(["a", "", "b"])
    assert len(groups_of(answered)[0].turns.turns) == 3
    untimed = [{**row, "seconds": None} if row["dialogue_id"] == "d1" else row for row in answered]
    assert len(groups_of(untimed)[0].turns.turns) == 2
    never = [{**row, "seconds": None} for row in answered]
    assert len(groups_of(never)[0].turns.turns) == 3
    written = [{**row, "written": 1} if row["dialogue_id"] == "d1" else row for row in untimed]
    assert len(groups_of(written)[0].turns.turns) == 3
    assert len(groups_of(turns_of(["a", "", "b"], technique="free_for_all"))[0].turns.turns) == 2


def test_failed_replies_were_not_shown():
    """Elsewhere place 0 tells so: the reply has no choice, and stands nowhere."""
    rows = [
        {**row, "position": 0} if row["model"] == "b" and row["dialogue_id"] == "d0" else row for row in turns_of("ab")
    ]
    (group,) = groups_of(rows)
    assert np.isnan(group.turns.chosen[0, 1])
    assert np.isnan(group.positions[0, 1])
    assert group.failed_replies == 1


def test_several_raters_and_metrics_of_a_dialogue_stay_apart():
    """A dialogue rated by two people on two metrics: two turns of each metric, not one."""
    rows = [
        {**row, "dialogue_id": "d", "worker_id": worker, "metric": metric}
        for worker in ("w1", "w2")
        for metric in ("fun", "preference")
        for row in turns_of(["a"])
    ]
    fun, preference = groups_of(rows)
    assert (fun.metric, preference.metric) == ("fun", "preference")
    assert fun.turns.chosen.tolist() == [[1, 0], [1, 0]]
    assert sorted(fun.turns.workers) == ["w1", "w2"]


def test_dialogues_rated_once_more_do_not_belong_here():
    """They have the own rater's name."""
    rows = turns_of("ab")
    assert groups_of([{**row, "own_worker": "w"} for row in rows]) == []
    assert groups_of([{**row, "judgement_id": "j"} for row in rows]) == []
    assert groups_of([{**row, "technique": "third_party"} for row in rows]) == []
    assert groups_of([]) == []


def test_partners_side_by_side_are_not_chosen_turn_by_turn():
    """Where every model goes on with its own reply, nothing was asked at the turn, said so or not."""
    rows = turns_of(["", ""], technique="arena")
    assert groups_of([{**row, "continued": 1} for row in rows]) == []
    assert groups_of([{**row, "continued_each": 1} for row in rows]) == []
    assert len(groups_of(rows)[0].turns.turns) == 2


def test_a_model_against_itself_has_no_winner():
    """It counts nowhere, and how many turns there were can be told."""
    rows = [{**row, "model": "a"} for row in turns_of(["a", "b", ""])]
    assert groups_of(rows) == []
    assert self_comparisons(from_rows("turns", rows)) == 3
    assert self_comparisons(from_rows("turns", turns_of(["a"]))) == 0


def test_ticks_are_metrics_of_single_models():
    """Two models, three criteria: a group each, with all their turns; what nobody ticked is 0, not missing."""
    records = [
        make_ticked("d1", [["engaging"], ["engaging", "humanlike"]], model="a", worker="w1"),
        make_ticked("d2", [[], ["engaging"]], model="b", worker="w2"),
    ]
    groups = choice_groups(tables(records))
    assert [group.metric for group in groups] == ["engaging", "humanlike", "interesting"]
    assert {group.kind for group in groups} == {"single"}
    engaging = groups[0].turns
    assert engaging.models == ["a", "b"]
    assert np.array_equal(engaging.chosen, [[1, np.nan], [1, np.nan], [np.nan, 0], [np.nan, 1]], equal_nan=True)
    assert np.nansum(groups[2].turns.chosen) == 0


def test_single_replies_from_elsewhere():
    """``selected`` is the mark; where no reply was ever selected, nothing was asked."""
    (group,) = groups_of(turns_of(["a", "", "a"], models=["a"]))
    assert (group.kind, group.turns.chosen.ravel().tolist()) == ("single", [1, 0, 1])
    assert groups_of(turns_of(["", ""], models=["a"], technique="direct_assessment")) == []


def test_our_own_single_replies_without_a_question_do_not_count():
    """A complete turn with no ticks to choose from was not rated."""
    record = make_ticked("d1", [["engaging"]], model="a")
    record.turn_criteria = []
    record.turns[0].ticks = None
    assert choice_groups(tables([record])) == []


def test_imported_ticks_without_times():
    """Where only some turns have a time, ticks still say that a turn was answered."""
    asked = {"tick_choices": "fun;good", "seconds": None}
    rows = turns_of(["", "", ""], models=["a"], technique="single_model")
    ticked = [{**rows[0], **asked, "ticks": "fun"}, {**rows[1], **asked, "seconds": 4}, {**rows[2], "seconds": None}]
    fun, good = groups_of(ticked)
    assert (fun.metric, fun.turns.chosen.ravel().tolist()) == ("fun", [1, 0])
    assert good.turns.chosen.ravel().tolist() == [0, 0]


def test_each_set_of_models_is_a_group():
    """Liu et al. 2023 set one baseline against three others: three pairs of one setting."""
    rows = [
        {**row, "dialogue_id": row["dialogue_id"] + other}
        for other in "bcd"
        for row in turns_of(["a", other], models=["a", other])
    ]
    groups = groups_of(rows)
    assert [group.models for group in groups] == [["a", "b"], ["a", "c"], ["a", "d"]]
    assert len({group.family for group in groups}) == 1


def test_some_turns_of_a_group():
    """Turns 2 to 3 of five; all arrays are cut alike."""
    (group,) = choice_groups(tables([make_choice("d1", [("a",), ("b",), ("a", "b"), ("a",), ("b",)])]))
    part = group.at_turns(2, 3)
    assert part.turns.turns.tolist() == [2, 3]
    assert part.turns.chosen.tolist() == [[0, 1], [1, 1]]
    assert len(part.positions) == len(part.turns.workers) == len(part.turns.by_position) == 2
    assert group.at_turns(4).turns.turns.tolist() == [4, 5]


def test_rows_in_any_order_give_the_same_counts(tmp_path):
    """Shuffled files give the same choices of each dialogue and turn."""
    whole = tables(make_choices({"a": 0.6, "b": 0.4, "c": 0.3}, workers=4))
    shuffled = Tables(
        turns=whole.turns.sample(frac=1, random_state=1).reset_index(drop=True),
        dialogues=whole.dialogues,
        comparisons=whole.comparisons,
    )

    def table(group):
        frame = pd.DataFrame(np.hstack([group.turns.chosen, group.positions]))
        return frame.assign(d=group.turns.dialogues, t=group.turns.turns).sort_values(["d", "t"]).to_numpy().tolist()

    (one,), (two,) = choice_groups(whole), choice_groups(shuffled)
    assert table(one) == table(two)
    write_tables(shuffled, tmp_path)
    (three,) = choice_groups(read_tables(tmp_path))
    assert table(one) == table(three)
