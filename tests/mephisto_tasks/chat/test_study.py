"""What the dialogues of one launch share."""

from __future__ import annotations

import json
import re
import time
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from live import config_of
from omegaconf import OmegaConf
from stored_study import StoredStudy, choices

from mephisto_tasks.adapter.blueprint import build_study
from mephisto_tasks.chat.config import InteractiveConfig
from mephisto_tasks.chat.plans import DialoguePlan, UnitPlan
from mephisto_tasks.chat.study import ChatStudy
from mephisto_tasks.config.task import read_config
from parlai_humaneval.allocation.groups import Cell
from parlai_humaneval.schema.events import Started
from parlai_humaneval.schema.records import ModelRecord

CELL = Cell(models=("alpha", "beta"), metric="preference")
CALLABLE = "parlai_humaneval.agents.callable:CallableAgent"
REPLIES = "def curious(history):\n    return 'Why?'\n"


def study(folder: Path, seed: int, **chosen: Any) -> ChatStudy:
    config = config_of(folder, seed=seed, **chosen)
    settings = OmegaConf.to_container(config.mephisto.blueprint, resolve=True)
    assert isinstance(settings, dict)
    known = {str(key): (None if value == "???" else value) for key, value in settings.items()}
    return build_study(read_config(InteractiveConfig, known), "pw_turn", folder, "study", 1.0)


def plans(folder: Path, seed: int) -> list[DialoguePlan]:
    made = study(folder, seed)
    return [plan for number in range(5) for plan in made.planner.plan(f"1-{number}", [CELL]).plans]


def test_the_same_seed_gives_the_same_plans(tmp_path: Path) -> None:
    """A study can be repeated: personas and the seeds of its dialogues come from the study's seed alone."""
    assert plans(tmp_path, 7) == plans(tmp_path, 7)


def test_other_seeds_and_dialogues_differ(tmp_path: Path) -> None:
    """Guards against one seed for all: every dialogue would show its models in the same order."""
    first, second = plans(tmp_path, 7), plans(tmp_path, 8)
    assert len({plan.seed for plan in first}) == 5
    assert {plan.seed for plan in first}.isdisjoint(plan.seed for plan in second)


def test_the_allocation_knows_how_often_a_worker_may_come(tmp_path: Path) -> None:
    config = config_of(tmp_path, dialogues_per_worker=3, dialogues_per_group=5)
    settings = OmegaConf.to_container(config.mephisto.blueprint, resolve=True)
    assert isinstance(settings, dict)
    known = {str(key): (None if value == "???" else value) for key, value in settings.items()}
    made = build_study(read_config(InteractiveConfig, known), "pw_turn", tmp_path, "study", 1.0)
    assert (made.allocator.per_worker, made.allocator.per_unit) == (3, 1)


def test_models_are_put_where_the_settings_say(tmp_path: Path) -> None:
    """Guards a launch whose models are to compute in other processes: its own stays one."""
    made = study(tmp_path, 5, engine="processes", replicas=2)
    assert {(spec.running.engine, spec.running.copies) for spec in made.pool.specs.values()} == {("processes", 2)}


def test_who_comes_gets_models_that_are_there_and_nobody_those_that_were_waited_for_in_vain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards raters against a wait that other models would not have, and against conversations that cannot be held."""
    made = study(tmp_path, 5, models=["alpha", "beta", "gamma"])
    gone: set[str] = set()
    monkeypatch.setattr(made.pool, "out", lambda *, for_good=False: frozenset(gone if for_good else {"gamma"}))
    plan = UnitPlan.model_validate(made.begin_unit("w1", "agent", "unit"))
    assert plan.plans[0].cell.models == ("alpha", "beta")
    assert made.availability("w2") == "open", "they wait at their first reply"
    gone.add("gamma")
    assert made.availability("w2") == "interrupted", "alpha and beta are with somebody, and gamma does not come back"
    made.drop_unit("agent", None)
    assert made.availability("w2") == "open"


def test_one_outage_is_one_failure(tmp_path: Path) -> None:
    """Guards a launch against its own pause: eight raters, and several models of one server, lost it at once."""
    made = study(tmp_path, 5)
    for model, since in (("alpha", 10.0), ("beta", 10.2), ("alpha", 10.0)):
        made.note_failure(f"{model} is out", since)
    assert made.broken is None
    for _ in range(made.config.stop_after_failures - 2):
        made.note_failure("out of memory")
    assert made.broken is None
    made.note_failure("alpha is out again", time.time() + 1)
    assert made.broken == "alpha is out again"


def test_a_launch_says_in_which_languages_blinding_knows_no_phrases(tmp_path: Path) -> None:
    """Guards a study in a further language, which would be taken for blind; in English there is nothing to say."""
    chinese = (files("parlai_humaneval") / "i18n" / "zh.po").read_text(encoding="utf-8")
    folder = tmp_path / "languages"
    folder.mkdir()
    (folder / "nl.po").write_text(re.sub(r"Language: zh\w*", "Language: nl", chinese), encoding="utf-8")
    dutch = study(tmp_path, 5, language="nl", languages_dir=str(folder))
    assert [remark for remark in dutch.remarks if "does not support nl:" in remark]
    assert not study(tmp_path, 5).remarks


def zoo_of(folder: Path, function: str, code: str | None = None) -> Path:
    """A zoo file in which alpha and beta are that function; ``code``: of the file next to it."""
    folder.mkdir(exist_ok=True)
    if code is not None:
        (folder / "bots.py").write_text(code, encoding="utf-8")
    options = {"model": CALLABLE, "function": function}
    zoo = folder / "zoo.yaml"
    zoo.write_text(json.dumps({"models": {name: {"options": options} for name in ("alpha", "beta")}}))
    return zoo


def answer_about(folder: Path, *models: ModelRecord) -> None:
    began, *rest = choices("d1", [[1]])
    assert isinstance(began, Started)
    StoredStudy(folder).add("study", "w1", [began.model_copy(update={"models": list(models)}), *rest])


def remarks_of(folder: Path, zoo: Path) -> list[str]:
    return study(folder, 5, models=["alpha", "beta"], zoo_files=[str(zoo)]).remarks


def test_a_launch_says_that_a_model_is_not_the_one_of_the_earlier_answers(tmp_path: Path) -> None:
    """Guards a report that pools two functions under one name. The same file by another path is the same model.
    Records of earlier versions do not have digests."""
    function = f"{tmp_path}/bots.py:curious"
    answer_about(
        tmp_path, ModelRecord(name="alpha", options={"model": CALLABLE, "function": function}), ModelRecord(name="beta")
    )
    inside = tmp_path / "inside"
    for folder, same in ((tmp_path, "bots.py:curious"), (inside, "../bots.py:curious")):
        assert remarks_of(tmp_path, zoo_of(folder, same, REPLIES)) == []
    (remark,) = remarks_of(tmp_path, zoo_of(tmp_path, "bots.py:warm"))
    assert remark.startswith("alpha has changed since raters last answered about it (function was '/")
    assert "bots.py:curious' and is now 'bots.py:warm')" in remark


@pytest.mark.parametrize("function", ["bots.py:curious", "bots:curious"])
def test_a_launch_says_that_the_code_of_a_model_is_different(function: str, tmp_path: Path) -> None:
    """Guards a report that pools the functions of two folders, or of a file before and after its editing, which have the
    same name. A folder may be moved."""
    made = study(tmp_path, 5, models=["alpha", "beta"], zoo_files=[str(zoo_of(tmp_path / "a", function, REPLIES))])
    answer_about(tmp_path, *made.records.values())
    assert remarks_of(tmp_path, zoo_of(tmp_path / "moved", function, REPLIES)) == []
    assert remarks_of(tmp_path, zoo_of(tmp_path / "moved", f"{tmp_path}/a/bots.py:curious")) == [], "by its whole path"
    for other in ("b", "a"):
        edited = zoo_of(tmp_path / other, function, f"{REPLIES}# edited\n")
        remarks = remarks_of(tmp_path, edited)
        assert [remark.split()[0] for remark in remarks] == ["alpha", "beta"]
        assert f"(the code in {edited.parent}/bots.py is different)" in remarks[0]
