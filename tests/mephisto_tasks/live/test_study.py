"""What the dialogues of one launch share."""

from __future__ import annotations

from pathlib import Path

from live import config_of
from omegaconf import OmegaConf

from mephisto_tasks.engine.config import read_config
from mephisto_tasks.live.building import build_study
from mephisto_tasks.live.config import InteractiveConfig
from mephisto_tasks.live.plans import Plan
from mephisto_tasks.live.study import Study
from parlai_humaneval.protocol.allocation.groups import Cell

CELL = Cell(models=("alpha", "beta"), metric="preference")


def study(folder: Path, seed: int) -> Study:
    config = config_of(folder, seed=seed)
    settings = OmegaConf.to_container(config.mephisto.blueprint, resolve=True)
    assert isinstance(settings, dict)
    known = {str(key): (None if value == "???" else value) for key, value in settings.items()}
    return build_study(read_config(InteractiveConfig, known), "pw_turn", folder, "study", 1.0)


def plans(folder: Path, seed: int) -> list[Plan]:
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
    config = config_of(tmp_path, engine="processes", replicas=2)
    settings = OmegaConf.to_container(config.mephisto.blueprint, resolve=True)
    assert isinstance(settings, dict)
    known = {str(key): (None if value == "???" else value) for key, value in settings.items()}
    made = build_study(read_config(InteractiveConfig, known), "pw_turn", tmp_path, "study", 1.0)
    assert {(spec.running.engine, spec.running.copies) for spec in made.pool.specs.values()} == {("processes", 2)}
