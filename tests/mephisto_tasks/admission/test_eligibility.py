"""Rules at our own door, on stored studies without a launch: earlier studies, limits, lists, qualifications."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mephisto.abstractions.databases.local_database import LocalMephistoDB
from mephisto.data_model.worker import Worker
from stored_study import StoredStudy, choices

from mephisto_tasks.admission.admission import DONE_ALL, DONE_ALL_ACROSS, PHRASES, SEEN_BEFORE, load_eligibility
from mephisto_tasks.config.task import ConfigError, WorkerRules
from mephisto_tasks.crowds.registry import crowd_in
from mephisto_tasks.launch.config import compose_config
from mephisto_tasks.storage.database import close_connections
from mephisto_tasks.storage.results import PSEUDONYM_KEY
from mephisto_tasks.workers.qualifications import grant
from parlai_humaneval.allocation.groups import Allocator, Cell
from parlai_humaneval.schema.pseudonyms import Pseudonymizer

PAIR = frozenset({"alpha", "beta"})


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``old``: rated by whole, half and idle, of whom idle did nothing; ``sister``: twice by whole; ``empty``."""
    data_dir = tmp_path_factory.mktemp("rules") / "data"
    study = StoredStudy(data_dir)
    whole = list(choices("d1", [[1], [2]]))
    study.add("old", "whole", whole)
    study.add("old", "half", whole[:-2])
    study.add("old", "idle", whole[:1])
    study.add("sister", "whole", choices("d2", [[1]]))
    study.add("sister", "whole", choices("d3", [[1]]))
    study.add("empty", "nobody", [])
    study.add("old", "new", [])
    return data_dir


@pytest.fixture(scope="module")
def db(data_dir: Path) -> Iterator[Any]:
    db = LocalMephistoDB(str(data_dir / "database.db"))
    yield db
    close_connections(db)


def refused(data_dir: Path, db: Any, task: str = "next", **rules: Any) -> dict[str, tuple[str, str]]:
    """Worker → kind of the refusal and what they read, of those who are refused."""
    eligibility = load_eligibility(WorkerRules(**rules), data_dir, task)
    pseudonyms = Pseudonymizer.load_or_create(data_dir / PSEUDONYM_KEY)
    found = {}
    for name in ("whole", "half", "idle", "new"):
        (worker,) = db.find_workers(worker_name=name)
        refusal = eligibility.refusal(Worker.get(db, worker.db_id), pseudonyms.worker(name))
        if refusal is not None:
            found[name] = refusal.kind, refusal.words
    return found


def test_nobody_is_refused_without_rules(data_dir: Path, db: Any) -> None:
    assert refused(data_dir, db) == {}


def test_who_rated_anything_in_an_earlier_study_is_left_out(data_dir: Path, db: Any) -> None:
    """Complete or partial; who came and did nothing may take part."""
    seen = "took_part_before", SEEN_BEFORE
    assert refused(data_dir, db, exclude_tasks=["old"]) == {"whole": seen, "half": seen}
    assert refused(data_dir, db, exclude_tasks=["empty"]) == {}


def test_units_of_one_worker_are_limited_in_a_study_and_across_studies(data_dir: Path, db: Any) -> None:
    enough = "max_units", DONE_ALL
    across = "max_units_across", DONE_ALL_ACROSS
    assert refused(data_dir, db, "old", max_units=1) == {"whole": enough}, (
        "what a launch that ended cut off does not count"
    )
    assert refused(data_dir, db, "old", max_units=2) == {}
    assert refused(data_dir, db, max_units_across=3, across_tasks=["old", "sister"]) == {"whole": across}
    assert refused(data_dir, db, max_units_across=4, across_tasks=["old", "sister"]) == {}


def test_who_goes_on_with_a_unit_begins_no_new_one(data_dir: Path, db: Any) -> None:
    """A unit that was cut off is gone on with, whatever the limit; other rules hold all the same."""
    (whole,) = db.find_workers(worker_name="whole")
    worker = Worker.get(db, whole.db_id)
    limited = load_eligibility(WorkerRules(max_units=1), data_dir, "old")
    assert limited.refusal(worker, "w1") is not None
    assert limited.refusal(worker, "w1", new_unit=False) is None
    excluded = load_eligibility(WorkerRules(exclude_tasks=["sister"]), data_dir, "old")
    assert excluded.refusal(worker, "w1", new_unit=False) is not None


def test_lists_by_id_and_by_pseudonym(data_dir: Path, db: Any, tmp_path: Path) -> None:
    whole = Pseudonymizer.load_or_create(data_dir / PSEUDONYM_KEY).worker("whole")
    (tmp_path / "allowed.txt").write_text(f"{whole}\nhalf\n")
    (tmp_path / "barred.txt").write_text("new\n")
    allow, block = str(tmp_path / "allowed.txt"), str(tmp_path / "barred.txt")
    uninvited = "allow_list", PHRASES["not_invited"]
    assert refused(data_dir, db, allow_list=allow) == {"idle": uninvited, "new": uninvited}
    assert [kind for kind, _ in refused(data_dir, db, block_list=block).values()] == ["block_list"]
    with pytest.raises(ConfigError, match="names 2 raters who are in allow_list"):
        load_eligibility(WorkerRules(allow_list=allow, block_list=allow), data_dir, "next")


def test_a_list_that_is_saved_anew_may_name_pseudonyms_of_the_very_first_launch(tmp_path: Path) -> None:
    """There was no database yet when its settings were read."""
    data_dir, barred = tmp_path / "data", tmp_path / "barred.txt"
    barred.write_text("somebody\n")
    data_dir.mkdir()
    eligibility = load_eligibility(WorkerRules(block_list=str(barred)), data_dir, "first")
    db = LocalMephistoDB(str(data_dir / "database.db"))
    worker = Worker.get(db, db.new_worker("cheat", "mock"))
    pseudonym = Pseudonymizer.load_or_create(data_dir / PSEUDONYM_KEY).worker("cheat")
    assert eligibility.refusal(worker, pseudonym) is None
    barred.write_text(f"somebody\n{pseudonym}\n")
    refusal = eligibility.refusal(worker, pseudonym)
    assert refusal is not None
    assert refusal.kind == "block_list"
    close_connections(db)


def test_qualifications_of_the_data_directory(data_dir: Path, db: Any) -> None:
    (half,) = db.find_workers(worker_name="half")
    grant(Worker.get(db, half.db_id), "trained")
    assert set(refused(data_dir, db, qualifications=["trained"])) == {"whole", "idle", "new"}
    assert set(refused(data_dir, db, not_qualifications=["trained"])) == {"half"}


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({"exclude_tasks": ["odl"]}, "no study 'odl' in this data directory. Did you mean old?"),
        ({"exclude_tasks": ["next"]}, "next is this study itself; limit how often a rater"),
        ({"qualifications": ["traned"]}, "no qualification 'traned' was ever granted in this data directory"),
        (
            {"allow_list": "/no/such/file"},
            "workers.allow_list: /no/such/file: cannot be read (No such file or directory)",
        ),
    ],
)
def test_what_is_named_must_be_there(data_dir: Path, rules: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as error:
        load_eligibility(WorkerRules(**rules), data_dir, "next")
    assert said in str(error.value)


def test_a_sister_study_may_come_later(data_dir: Path) -> None:
    rules = WorkerRules(max_units_across=2, across_tasks=["later"])
    (remark,) = load_eligibility(rules, data_dir, "next").remarks
    assert "later is not in" in remark


def test_nothing_is_made_by_looking(tmp_path: Path) -> None:
    """A data directory that is not there yet stays so until everything is checked."""
    with pytest.raises(ConfigError):
        load_eligibility(WorkerRules(exclude_tasks=["old"]), tmp_path / "data", "next")
    assert not (tmp_path / "data").exists()


def test_the_same_models_once_only(data_dir: Path, db: Any) -> None:
    """In whatever setting, and not if they were rated in a sister study."""
    rules = WorkerRules(pair_once=True, across_tasks=["old"])
    eligibility = load_eligibility(rules, data_dir, "next")
    ids = {name: db.find_workers(worker_name=name)[0].db_id for name in ("whole", "half", "idle")}
    assert {name: eligibility.rated_elsewhere(worker) for name, worker in ids.items()} == {
        "whole": {PAIR},
        "half": {PAIR},
        "idle": set(),
    }
    cells = [
        Cell(pair, "preference", setting) for pair in (("alpha", "beta"), ("alpha", "gamma")) for setting in ("a", "b")
    ]
    allocator = Allocator(cells, 10, group_once=True)
    allocator.bar_groups("whole", eligibility.rated_elsewhere(ids["whole"]))
    assert {cell.models for cell in allocator.available("whole")} == {("alpha", "gamma")}
    (first,) = allocator.claim("new", "unit") or ()
    allocator.complete("unit")
    assert {cell.models for cell in allocator.available("new")} == {("alpha", "beta"), ("alpha", "gamma")} - {
        first.models
    }
    allocator.claim("new", "another")
    allocator.complete("another")
    assert allocator.has_done_all("new")


def _remarks(config: Any, rules: WorkerRules) -> list[str]:
    return crowd_in(config).remarks(rules, dict(config.mephisto.provider))


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (
            [],
            [
                "A launch does not check that raters live in US (workers.locales): invite only people who meet this rule."
            ],
        ),
        (["place=link"], ["invite only people who meet this rule."]),
        (
            ["place=link", "mephisto.provider.panel=prolific", "mephisto.provider.completion_code=C1"],
            ["set it on Prolific's page of the study."],
        ),
        (["place=mturk", "mephisto.provider.requester_name=me"], []),
    ],
)
def test_what_a_place_cannot_check_is_never_ignored_silently(place: list[str], said: list[str]) -> None:
    """On a panel it is set there; on MTurk it is enforced, and there is nothing to say."""
    crowd = [*place, "mephisto.architect.public_url=https://study.example"]
    config = compose_config("pw_turn", "smith2022_size_preference", crowd)
    remarks = _remarks(config, WorkerRules(locales=["US"]))
    assert [one in remark for one, remark in zip(said, remarks, strict=True)] == [True] * len(said)


def test_mephistos_countries_are_not_chosen_without_a_word() -> None:
    """Where nothing is set, Mephisto lets five countries in."""
    crowd = [
        "place=mturk",
        "mephisto.provider.requester_name=me",
        "mephisto.architect.public_url=https://study.example",
    ]
    config = compose_config("pw_turn", "smith2022_size_preference", [*crowd, "workers=any"])
    (remark,) = _remarks(config, WorkerRules())
    assert remark.startswith("Only workers in US, CA, GB, AU, NZ will see the task")
