"""Which units were cut off, what stands of them, and that a visit that was gone on with is read once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from stored_study import StoredStudy, rated

from mephisto_tasks.chat.plans import DialoguePlan, UnitPlan
from mephisto_tasks.storage.results import past_dialogues, read_records
from mephisto_tasks.storage.work import completed_work, cut_off_units
from parlai_humaneval.schema.events import Event, Failed, Finished, Resumed
from parlai_humaneval.schema.records import ContextRecord

MODELS = ["alpha", "beta", "degraded"]


def planned(session: str) -> UnitPlan:
    plans = tuple(
        DialoguePlan(
            dialogue_id=f"{session}-{number}",
            models=(model,),
            metric="quality",
            context=ContextRecord(),
            seed=number,
            conversation=number,
        )
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


def left(study: StoredStudy) -> dict[str, set[str]]:
    """Worker → ids of the conversations that came to their end, of a unit that did not."""
    return {worker: unit.finished for worker, unit in cut_off_units(study.data_dir, "task").items()}


def test_nothing_is_an_empty_past(tmp_path: Path, study: StoredStudy) -> None:
    assert cut_off_units(tmp_path / "nowhere", "task") == {}
    study.add("another", "w", list(held("u", 1)), planned("u").stored())
    assert cut_off_units(study.data_dir, "task") == {}


def test_what_is_left_after_none_one_two_and_all(study: StoredStudy) -> None:
    """A whole unit that was handed in is not gone on with; every other one is."""
    one = study.add("task", "one", list(held("a", 1, 2, whole=False)), planned("a").stored())
    two = study.add("task", "two", list(held("b", 1, 2)), planned("b").stored())
    study.add("task", "all", list(held("c", 1, 2, 3)), planned("c").stored())
    none = study.add("task", "none", list(held("d", 1, whole=False)), planned("d").stored())
    assert left(study) == {one: {"a-1"}, two: {"b-1", "b-2"}, none: set()}
    found = cut_off_units(study.data_dir, "task")[one]
    assert UnitPlan.model_validate(found.plan) == planned("a")
    assert [event.event for event in found.events][-1] != "finished"


def test_visits_of_earlier_versions(study: StoredStudy) -> None:
    """They had a plan of what was left, with ids of its own: the newest of them goes on, and its past stays."""
    plan = planned("a")
    rest = tuple(one.model_copy(update={"dialogue_id": f"ax-{one.conversation}"}) for one in plan.plans[1:])
    second = plan.model_copy(update={"plans": rest, "held": (plan.plans[0].cell,)})
    worker = study.add("task", "w", list(held("a", 1)), plan.stored())
    study.add("task", "w", list(held("a", 2, visit="x")), second.stored())
    assert left(study) == {worker: {"ax-2"}}


def test_only_the_newest_unit_counts(study: StoredStudy) -> None:
    """Who has begun a new one does not come back to the old one, whether it is done or not."""
    study.add("task", "w", list(held("a", 1)), planned("a").stored())
    worker = study.add("task", "w", list(held("b", 1, 2)), planned("b").stored())
    assert left(study) == {worker: {"b-1", "b-2"}}
    study.add("task", "w", list(held("c", 1, 2, 3)), planned("c").stored())
    assert left(study) == {}


def test_what_cannot_go_on(study: StoredStudy) -> None:
    """A unit that its rater handed in because a model failed, and raters who found nothing to do."""
    alone = UnitPlan(session="a", conversations=1, plans=planned("a").plans[:1])
    failed = [*list(rated("a", "alpha", {"fun": 1.0}))[:-1], Failed(at=9.0, reason="a model")]
    study.add("task", "w", failed, alone.stored())
    study.add("task", "v", list(rated("b", "alpha", {"fun": 1.0})), {"nothing_left": True})
    assert left(study) == {}


def test_a_visit_that_was_gone_on_with_is_read_once(study: StoredStudy) -> None:
    """Its events are the beginning of the later one's: records, counts and pay see each dialogue once, whole."""
    plan = UnitPlan(session="a-1", conversations=1, plans=planned("a").plans[:1]).stored()
    whole = list(rated("a-1", "alpha", {"fun": 1.0}))
    study.add("task", "w", whole[:2], plan)
    (first,) = cut_off_units(study.data_dir, "task").values()
    resumed = Resumed(at=whole[1].at + 1000, earlier=first.agent)
    after = [event.model_copy(update={"at": event.at + 1000}) for event in whole[2:]]
    study.add("task", "w", [*whole[:2], resumed, *after], plan)
    (record,) = read_records(study.data_dir, "task")
    assert record.status == "complete"
    assert record.away_s == pytest.approx(1000)
    assert [past.complete for past in past_dialogues(study.data_dir, "task")] == [True]
    assert left(study) == {}
    earlier, later = completed_work(study.data_dir, "task")
    assert (earlier.outcome, later.outcome) == ("continued", "complete")
    assert earlier.seconds + later.seconds == pytest.approx(1000), "nobody worked in between"
    assert (later.begun, later.done) == (resumed.at, later.whole)
