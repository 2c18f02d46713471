"""Collected data as a study that stops: what would have been decided, after how much of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest
from make_comparisons import comparisons_frame, exchange_tables

from parlai_humaneval.analysis import Tables, replay_sequential
from parlai_humaneval.stopping.estimates import WORDS
from parlai_humaneval.stopping.events import Claimed, Outcome
from parlai_humaneval.stopping.rule import StoppingRule
from parlai_humaneval.stopping.study import SequentialStudy
from parlai_humaneval.tables.columns import from_rows
from parlai_humaneval.tables.example import example_tables

CHANCES = {("ada", "bob"): 0.75, ("ada", "cyd"): 0.75, ("bob", "cyd"): 0.5}


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """Three models, one of them better than the two others, by 150 workers."""
    frame = comparisons_frame(CHANCES, n=400, workers=150, seed=1)
    frame = frame.sample(frac=1, random_state=1)  # pairs are drawn for each worker, and not one after the other
    return exchange_tables(tmp_path_factory.mktemp("compared"), {"comparisons": frame})


def test_a_clear_answer_needs_a_part_of_the_data(compared: Tables) -> None:
    """What is decided is true, and dialogues of pairs that were decided are passed over."""
    (replay,) = replay_sequential(compared, margin=0.3, shuffles=20)
    assert replay.decided
    assert replay.answer == "ada > {bob ≈ cyd within 30 points}"
    assert 0 < replay.needed < replay.dialogues == 1200
    assert replay.needed + replay.passed_over <= replay.dialogues
    assert replay.needed == max(pair.after for pair in replay.pairs)
    assert replay.shuffled_decided == 1
    assert replay.shuffled_low <= replay.shuffled_share <= replay.shuffled_high
    assert str(replay).endswith(f"{replay.needed} of 1200 dialogues ({replay.needed / 1200:.0%})")
    assert replay.evidence == "pooled"


def test_the_same_data_give_the_same_replay(compared: Tables) -> None:
    """Orders are drawn with a seed."""
    asked = {"margin": 0.3, "shuffles": 5}
    assert replay_sequential(compared, **asked, seed=2) == replay_sequential(compared, **asked, seed=2)


def test_a_stricter_question_needs_more(compared: Tables) -> None:
    """A smaller margin, and a smaller α; what the data are too few for stays open, and is said to be."""
    whole, strict, narrow = (
        replay_sequential(compared, margin=margin, alpha=alpha, shuffles=0)[0]
        for margin, alpha in ((0.3, 0.05), (0.3, 0.001), (0.02, 0.05))
    )
    assert whole.needed < strict.needed
    assert not narrow.decided
    assert "pairs open" in str(narrow)


def test_unlike_numbers_of_dialogues_are_not_pooled(tmp_path: Path) -> None:
    """Where one pair was met far more often, pairs were not equally likely."""
    chances = {pair: chance for pair, chance in CHANCES.items() if pair != ("ada", "bob")}
    frame = comparisons_frame(chances, n=300, workers=90)
    rare = comparisons_frame({("ada", "bob"): 0.75}, n=40, workers=90)
    tables = exchange_tables(tmp_path, {"comparisons": pd.concat([frame, rare])})
    (replay,) = replay_sequential(tables, margin=0.3, shuffles=0)
    assert replay.evidence == "direct"
    assert any("not equally likely" in note for note in replay.notes)


def test_workers_are_the_unit() -> None:
    """A single worker, however much they say, decides nothing."""
    rows = [
        {
            "item_id": f"i{number}",
            "worker_id": "w",
            "metric": "preference",
            "model_a": "ada",
            "model_b": "bob",
            "dialogue_a": f"a{number}",
            "dialogue_b": f"b{number}",
            "winner": "ada",
            "seconds": 30.0,
        }
        for number in range(300)
    ]
    empty = example_tables()
    tables = Tables(
        turns=empty.turns.iloc[:0], dialogues=empty.dialogues.iloc[:0], comparisons=from_rows("comparisons", rows)
    )
    (replay,) = replay_sequential(tables, margin=0.1, shuffles=0)
    assert not replay.decided
    assert replay.workers == 1


def test_every_kind_of_data_is_replayed() -> None:
    """Turns at which something was chosen, comparisons of finished dialogues, judged segments, and ratings of models."""
    replays = replay_sequential(example_tables(), margin=0.3, alpha=0.2, shuffles=2)
    assert [replay.kind for replay in replays] == ["turns", "dialogue", "segments", "scores", "scales", "ticks"]
    assert [len(replay.models) for replay in replays] == [3, 2, 3, 3, 3, 3]
    assert [replay.dialogues for replay in replays] == [8, 32, 72, 24, 24, 24]
    for rated in replays[3:]:
        assert "ada > cyd" in rated.answer
        assert "less than 15 % of the scale apart" in rated.notes[0]
    assert "more than two models" in replays[0].notes[0]


@pytest.mark.parametrize("each", [1, 2])
@pytest.mark.parametrize("better", [0.0, 8.0])
def test_ratings_are_replayed_as_a_live_study_decides(each: int, better: float) -> None:
    """Two models, rated by one worker or two: the same decision after the same dialogues, though the rows stand in the order
    in which raters were through, and quick raters like one model."""
    rule = StoppingRule(
        models=("ada", "bob"), margin=0.3, max_dialogues=1000, floor=1, rated="apart", evidence="direct"
    )
    study, rng = SequentialStudy(rule, seed=2), np.random.default_rng(int(better))
    through, rows = [], []
    for number in range(400):
        style = rng.normal(50, 10)
        for (model,) in study.arrive(f"w{number}", each, at=float(number)).dialogues:
            value = int(np.clip(style + rng.normal(0, 15) + better * (model == "ada"), 0, 100))
            through.append((value if model == "ada" else -value, number, model, value))
        if each == 2 or number % 2:
            for _, who, _, value in through[-2:]:
                place = len(study._workers[f"w{who}"].outcomes)
                study.answer(f"w{who}", place, Outcome(picks=(value,), turns=100), at=number + 0.5)
        if study.ended:
            break
    assert study.ended == "decided"
    for _, number, model, value in sorted(through):
        of_all = {
            "worker_id": f"w{number}",
            "dialogue_id": f"d{number}{model}",
            "model": model,
            "technique": "direct_assessment",
        }
        rows.append({**of_all, "criterion": "fun", "value": value, "scale": "slider", "minimum": 0, "maximum": 100})
    begun = [
        {
            "worker_id": row["worker_id"],
            "dialogue_id": row["dialogue_id"],
            "started": str(pd.Timestamp("2024-05-01") + pd.Timedelta(minutes=int(row["worker_id"][1:]))),
            "complete": 1,
            "technique": "direct_assessment",
            "models": row["model"],
            "n_turns": 6,
        }
        for row in rows
    ]
    empty = example_tables()
    tables = Tables(
        turns=empty.turns.iloc[:0],
        dialogues=from_rows("dialogues", begun),
        comparisons=empty.comparisons.iloc[:0],
        ratings=from_rows("ratings", rows),
    )
    (replay,) = replay_sequential(tables, margin=0.3, shuffles=0)
    (claim,) = [event for event in study.log if isinstance(event, Claimed)]
    assert (replay.answer, replay.pairs[0].after) == (study.standing().answer, claim.dialogues)


def test_times_of_arrival_order_the_workers() -> None:
    """Where the tables know when a worker began, it is not the order of the rows."""
    tables = example_tables()
    times = {worker: f"2024-05-01T{9 - number}:00" for number, worker in enumerate(tables.dialogues["worker_id"])}
    late = tables.dialogues.assign(started=[times[worker] for worker in tables.dialogues["worker_id"]])
    before, after = (
        replay_sequential(
            Tables(turns=tables.turns, dialogues=table, comparisons=tables.comparisons), margin=0.5, alpha=0.2
        )
        for table in (tables.dialogues, late)
    )
    assert not any(WORDS["replayed"]["by_rows"].strip() in note for replay in before for note in replay.notes)
    assert before[1].needed != after[1].needed


def test_the_order_is_that_of_time_and_not_of_its_words() -> None:
    """Clocks in other zones: half past eight in London is later than nine in Berlin."""
    tables = example_tables()
    hours = {worker: 8 + number for number, worker in enumerate(tables.dialogues["worker_id"])}
    zones = [2 * (number % 2) for number in range(len(hours))]
    words = [f"2024-05-01T{hour + zone:02}:00:00+0{zone}:00" for hour, zone in zip(hours.values(), zones, strict=True)]
    in_words, in_time = (
        replay_sequential(
            Tables(
                turns=tables.turns, dialogues=tables.dialogues.assign(started=times), comparisons=tables.comparisons
            ),
            margin=0.5,
            alpha=0.2,
            shuffles=0,
        )
        for times in (words, [f"2024-05-01T{hour:02}:00:00+00:00" for hour in hours.values()])
    )
    assert sorted(words) != words
    assert in_words == in_time


@pytest.mark.parametrize("evidence", ["pooled", "direct"])
def test_a_circle_is_warned_of(tmp_path: Path, evidence: Literal["pooled", "direct"]) -> None:
    """Also where the pair that closes it was decided through the others, so that its dialogues were passed over."""
    chances = {("ada", "bob"): 0.8, ("bob", "cyd"): 0.8, ("ada", "cyd"): 0.2}
    frame = comparisons_frame(chances, n=300, workers=300, seed=1).sample(frac=1, random_state=1)
    (circle,) = replay_sequential(
        exchange_tables(tmp_path, {"comparisons": frame}), margin=0.3, evidence=evidence, shuffles=0
    )
    assert any("beat each other in a circle" in note for note in circle.notes)


def test_data_without_a_circle_are_not_warned_of(compared: Tables) -> None:
    """All of the data, and not only what was used, is looked at."""
    (replay,) = replay_sequential(compared, margin=0.3, shuffles=0)
    assert not any("circle" in note for note in replay.notes)


def test_turns_that_were_compared_are_read_once(tmp_path: Path) -> None:
    """Comparisons of turns are those of the table of turns, where it holds their dialogues, and others where it does not."""
    tables = example_tables()
    frame = comparisons_frame({("ada", "bob"): 0.9}, n=60, workers=30)
    frame["dialogue_b"] = frame["dialogue_a"]
    apart = exchange_tables(tmp_path, {"comparisons": frame})
    beside = Tables(turns=tables.turns, dialogues=tables.dialogues, comparisons=apart.comparisons)
    kinds = [replay.kind for replay in replay_sequential(beside, margin=0.3, shuffles=0)]
    assert kinds == ["turns", "turn", "ticks"]
    named = apart.comparisons["dialogue_a"]
    turns = tables.turns.assign(dialogue_id=named.iloc[0])
    same = Tables(turns=turns, dialogues=tables.dialogues, comparisons=apart.comparisons)
    again = {replay.kind: replay.dialogues for replay in replay_sequential(same, margin=0.3, shuffles=0)}
    judged = apart.comparisons[named != named.iloc[0]]
    assert again["turn"] == len(judged.drop_duplicates(["dialogue_a", "worker_id"])) < 60


@pytest.mark.parametrize("changes", [{"shuffles": -1}, {"seed": -1}, {"evidence": "indirect"}])
def test_what_cannot_be_asked_is_refused(changes: dict[str, Any]) -> None:
    """By name, and before anything is computed."""
    with pytest.raises(ValueError, match=next(iter(changes))):
        replay_sequential(example_tables(), margin=0.1, **changes)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"margin": 0}, r"^0 is not a valid margin.* never decide between two equal models; give a share"),
        ({"margin": 10}, r"^10 is not a valid margin.* such as 0\.1 for 10 points$"),
        ({"alpha": 0}, r"^0 is not a rate of false claims; give a rate above 0 and at most 0\.5, such as 0\.05$"),
        ({"margin": "wide"}, r"^margin: must be a number, not 'wide'$"),
        ({"evidence": "all"}, r"^evidence: cannot be 'all'"),
    ],
)
def test_a_rule_that_cannot_be_is_refused(changes: dict[str, Any], said: str) -> None:
    """As a live study refuses it, in words alone, also where the data would hold nothing to decide."""
    with pytest.raises(ValueError, match=said):
        replay_sequential(example_tables(), **{"margin": 0.1, **changes})
    with pytest.raises(ValueError, match=said):
        replay_sequential(_without_answers(), **{"margin": 0.1, **changes})


def test_nothing_collected_is_nothing_to_replay() -> None:
    """Tables without a comparison give no replay."""
    assert replay_sequential(_without_answers(), margin=0.1) == []
    assert replay_sequential(example_tables(), margin=0.1, shuffles=0)[0].share == 1


def _without_answers() -> Tables:
    tables = example_tables()
    return Tables(
        turns=tables.turns.iloc[:0], dialogues=tables.dialogues.iloc[:0], comparisons=tables.comparisons.iloc[:0]
    )


def test_dialogues_that_were_left_count_as_far_as_they_went() -> None:
    """One of eight was left after some of its turns: it is no dialogue that was needed, and its worker is evidence."""
    tables = example_tables()
    turns = tables.turns
    last = turns["dialogue_id"].iloc[0]
    of_it = turns["dialogue_id"] == last
    cut = turns[~of_it | (turns["turn"] <= 1)]
    cut = cut.assign(dialogue_status=cut["dialogue_status"].where(cut["dialogue_id"] != last, "partial"))
    asked = {"margin": 0.3, "alpha": 0.2, "shuffles": 0}
    none_left, whole = (
        replay_sequential(Tables(turns=each, dialogues=tables.dialogues, comparisons=tables.comparisons), **asked)[0]
        for each in (turns[~of_it], turns)
    )
    left = replay_sequential(Tables(turns=cut, dialogues=tables.dialogues, comparisons=tables.comparisons), **asked)[0]
    assert (none_left.dialogues, left.dialogues, whole.dialogues) == (7, 7, 8)
    assert (none_left.workers, left.workers, whole.workers) == (7, 8, 8)
