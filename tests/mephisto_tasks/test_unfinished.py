"""Which units of several conversations were cut off, and what is left of them, as the database tells."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from stored_study import StoredStudy, rated

from mephisto_tasks.live.building import unfinished_units
from mephisto_tasks.live.plans import Plan, UnitPlan
from parlai_humaneval.protocol.allocation.groups import Cell
from parlai_humaneval.protocol.records.dialogue import ContextRecord
from parlai_humaneval.protocol.records.events import Event, Finished

MODELS = ["alpha", "beta", "degraded"]


def planned(session: str) -> UnitPlan:
    plans = tuple(
        Plan(f"{session}-{number}", Cell((model,), "quality"), ContextRecord(), number, number)
        for number, model in enumerate(MODELS, start=1)
    )
    return UnitPlan(session=session, conversations=3, plans=plans)


def held(session: str, *numbers: int, whole: bool = True, visit: str = "") -> Iterator[Event]:
    """Conversations of a unit; the last one without its end unless ``whole``."""
    for number in numbers:
        events = rated(
            f"{session}{visit}-{number}",
            MODELS[number - 1],
            {"fun": 50.0},
            session=session,
            conversation=number,
            conversations=3,
        )
        for event in events:
            if not isinstance(event, Finished) or whole or number != numbers[-1]:
                yield event


@pytest.fixture
def study(tmp_path: Path) -> StoredStudy:
    return StoredStudy(tmp_path / "data")


def left(study: StoredStudy) -> dict[str, list[int]]:
    """Worker → the numbers of the conversations that are left."""
    found = unfinished_units(study.data_dir, "task")
    return {worker: [plan.conversation for plan in unit.plans] for worker, unit in found.items()}


def test_nothing_is_an_empty_past(tmp_path: Path, study: StoredStudy) -> None:
    assert unfinished_units(tmp_path / "nowhere", "task") == {}
    study.add("another", "w", list(held("u", 1)), planned("u").stored())
    assert unfinished_units(study.data_dir, "task") == {}


def test_what_is_left_after_one_two_and_all(study: StoredStudy) -> None:
    """Begun conversations are held again; a whole unit, and one with nothing complete, are not gone on with."""
    one = study.add("task", "one", list(held("a", 1, 2, whole=False)), planned("a").stored())
    two = study.add("task", "two", list(held("b", 1, 2)), planned("b").stored())
    study.add("task", "all", list(held("c", 1, 2, 3)), planned("c").stored())
    study.add("task", "none", list(held("d", 1, whole=False)), planned("d").stored())
    assert left(study) == {one: [2, 3], two: [3]}
    found = unfinished_units(study.data_dir, "task")
    assert found[one].session == "a"
    assert [cell.models for cell in found[two].held] == [("alpha",), ("beta",)]


def test_a_unit_in_several_visits(study: StoredStudy) -> None:
    """The second visit's plan is shorter; what is left is counted over both, and a unit completed so is whole."""
    plan = planned("a")
    worker = study.add("task", "w", list(held("a", 1)), plan.stored())
    study.add("task", "w", list(held("a", 2, visit="x")), plan.without([1]).renamed("ax").stored())
    assert left(study) == {worker: [3]}
    study.add("task", "w", list(held("a", 3, visit="y")), plan.without([1, 2]).renamed("ay").stored())
    assert left(study) == {}


def test_only_the_newest_unit_counts(study: StoredStudy) -> None:
    """Who has begun a new one does not come back to the old one."""
    study.add("task", "w", list(held("a", 1)), planned("a").stored())
    worker = study.add("task", "w", list(held("b", 1, 2)), planned("b").stored())
    assert left(study) == {worker: [3]}
    assert unfinished_units(study.data_dir, "task")[worker].session == "b"


def test_units_of_one_conversation_are_no_matter_here(study: StoredStudy) -> None:
    """A dialogue that was cut off begins anew; and raters who found nothing to do have no plan at all."""
    alone = UnitPlan("a", 1, planned("a").plans[:1])
    study.add("task", "w", list(rated("a", "alpha", {"fun": 1.0}))[:-1], alone.stored())
    study.add("task", "v", list(rated("b", "alpha", {"fun": 1.0})), {"nothing_left": True})
    assert left(study) == {}
