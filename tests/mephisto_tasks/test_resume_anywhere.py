"""A unit whose launch is killed after any of its events goes on there: nothing is lost, and nothing is asked twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from held_units import Held, Units, answers_in, replies_in
from hypothesis import given
from hypothesis import settings as run_with
from hypothesis import strategies as st
from judging_hands import LONG, SHORT, TERSE, WORDY, chats, duets, says
from live import composed
from omegaconf import OmegaConf
from scripted_models import zoo_file
from stored_study import StoredStudy

from mephisto_tasks.adapter.blueprint import blueprint_of, build_study
from mephisto_tasks.config.task import read_config
from parlai_humaneval.schema.events import Finished

PAIR = {"models": ["alpha", "beta"]}
LIVE: dict[str, dict[str, Any]] = {
    "pw_turn": PAIR,
    "sata-random": {"task": "sata", "setting": "sata_random", **PAIR},
    "sata-user": {"task": "sata", "setting": "sata_user", **PAIR},
    "soba": {"task": "sata", "setting": "soba", **PAIR},
    "single_model": {"models": ["alpha"]},
    "free_for_all": {"models": ["alpha", "beta", "gamma"], "group_size": 3, "history": "independent"},
    "arena": PAIR,
    "direct_assessment": {"models": ["alpha", "beta"], "quality_control_model": "", "conversations_per_unit": 2},
}
Settings = dict[str, Any]


def of_files(folder: Path) -> Settings:
    files = [chats(folder, WORDY, says(LONG)), chats(folder, TERSE, says(SHORT))]
    return {
        "models": [WORDY, TERSE],
        "dialogues": files,
        "judgements_per_group": 6,
        "items_per_unit": 3,
        "golds_per_unit": 1,
    }


def of_bots(folder: Path) -> Settings:
    return {
        "models": [WORDY, TERSE],
        "generate": "",
        "dialogues": [duets(folder, WORDY, TERSE, dialogues=4)],
        "segment_lengths": [2],
        "items_per_unit": 3,
        "golds_per_unit": 1,
    }


def of_a_live_task(folder: Path) -> Settings:
    units, stored = units_of(folder / "lived", LIVE["sata-user"], "sata"), StoredStudy(folder / "data")
    for number in (1, 2):
        held = units.whole(f"unit-{number}")
        stored.add("lived", f"somebody {number}", held.events, held.plan)
    return {"dialogues": [{"task": "lived"}], "items_per_unit": 2}


JUDGING: dict[str, Callable[[Path], Settings]] = {
    "pw_dialog": of_files,
    "spot_the_bot": of_bots,
    "third_party": of_a_live_task,
    "third_party-turn": lambda folder: {"task": "third_party", "show": "turn", **of_a_live_task(folder)},
    "third_party-whole": lambda folder: {
        "task": "third_party",
        "show": "whole",
        "scales": ["coherence", "overall"],
        **of_a_live_task(folder),
    },
}

OPEN = ExitStack()


def units_of(folder: Path, settings: Settings, task: str) -> Units:
    folder.mkdir(parents=True, exist_ok=True)
    data_dir = folder / "data"
    data_dir.mkdir(exist_ok=True)
    changed = {"dialogues_per_group": 2, "turns": 2, **settings} if task in LIVE or task == "sata" else dict(settings)
    if "models" in changed:
        changed["zoo_files"] = [str(zoo_file(folder, changed["models"]))]
    asked = composed(task, {name: value for name, value in changed.items() if name != "task"})
    found = OmegaConf.to_container(asked.mephisto.blueprint, resolve=True, throw_on_missing=False)
    assert isinstance(found, dict)
    blueprint = {str(name): (None if value == "???" else value) for name, value in found.items()}
    study = build_study(read_config(blueprint_of(task).CONFIG, blueprint), task, data_dir, "test", 0.0)
    OPEN.enter_context(study.resources())
    return Units(study, folder / "agents")


@dataclass
class Whole:
    """A study, and a unit of it that nobody interrupted."""

    units: Units
    held: Held


@pytest.fixture(scope="module", autouse=True)
def closed() -> Iterator[None]:
    yield
    OPEN.close()


@pytest.fixture(scope="module", params=[*LIVE, *JUDGING])
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    name: str = request.param
    folder = tmp_path_factory.mktemp(name)
    settings = LIVE[name] if name in LIVE else JUDGING[name](folder)
    units = units_of(folder, settings, str(settings.get("task", name)))
    return Whole(units, units.whole())


def assert_the_same(whole: Held, before: Held, length: int, rest: Held) -> None:
    """``rest`` goes on behind ``length`` events of ``before``, and both together are the whole unit."""
    known = before.events[:length]
    assert rest.records() == whole.records()
    assert rest.asked == whole.asked[answers_in(known) :], "no step is asked twice, and none is left out"
    assert whole.heard >= rest.heard, "models hear the same dialogue"
    assert sum(rest.heard.values()) == sum(whole.heard.values()) - replies_in(known), "and are not asked twice"
    assert sum(record["status"] == "complete" for record in rest.records()) == len(whole.records())


def test_cut_off_after_any_event(whole: Whole) -> None:
    """Every prefix of the log, from the first event to the comment box."""
    lengths = range(1, len(whole.held.messages))
    for length in lengths:
        assert_the_same(whole.held, whole.held, length, whole.units.rest(whole.held, length))
    assert len(lengths) >= 4


@run_with(deadline=None, max_examples=6)
@given(st.integers(1, 10_000), st.floats(0, 1), st.floats(0, 1))
def test_cut_off_twice_whatever_is_answered(whole: Whole, answers: int, first: float, second: float) -> None:
    """A unit that was cut off, went on, and was cut off again; with other answers each time."""
    units = Units(whole.units.study, whole.units.folder / str(answers), answers)
    alone = units.held(whole.held.plan)
    length = 1 + int(first * (len(alone.messages) - 2))
    once = units.rest(alone, length)
    again = 1 + int(second * (len(once.messages) - 2))
    assert_the_same(alone, once, again, units.rest(once, again))


def test_attention_checks_that_are_asked_no_more_are_left_out(tmp_path: Path) -> None:
    """A batch was cut off, and the study is launched again without checks: the pairs that are left are judged."""
    before = units_of(tmp_path, of_files(tmp_path), "pw_dialog")
    whole = before.whole()
    first = next(number for number, event in enumerate(whole.events, start=1) if isinstance(event, Finished))
    worker = StoredStudy(tmp_path / "data").add("test", "w", whole.events[:first], whole.plan)
    after = units_of(tmp_path, {**of_files(tmp_path), "golds_per_unit": 0}, "pw_dialog")
    left = after.study.take_up(worker, "2", "later")
    assert left is not None
    rest = after.rest(Held(left.plan, whole.messages, [], Counter()), first)
    assert [record["status"] for record in rest.records()] == ["complete"] * 3
    assert len(whole.records()) == 4
    assert [record["numbers"] for record in rest.records()] == [4, 3, 3]
    assert len(rest.asked) == 3, "two pairs, and the comment"
