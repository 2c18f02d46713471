"""The entries of the techniques, and what must agree with them: folders, blueprints, the README."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from mephisto.operations.registry import get_blueprint_from_type

from mephisto_tasks.engine.task_folder import task_dir
from mephisto_tasks.judging.config import StaticConfig
from mephisto_tasks.live.config import InteractiveConfig
from mephisto_tasks.study.blueprints import blueprint_of
from parlai_humaneval.quality.registry import known_checks
from parlai_humaneval.techniques import Technique, recorded_as, techniques

README = Path(__file__).parents[2] / "README.md"
ENTRIES = list(techniques().values())


@pytest.fixture(params=ENTRIES, ids=[entry.name for entry in ENTRIES])
def entry(request: pytest.FixtureRequest) -> Technique:
    found: Technique = request.param
    return found


def test_a_folder_holds_confs_and_materials_and_no_python(entry: Technique) -> None:
    """Guards that a technique needs no code of its own; its conf names what its records are called, and its blueprint."""
    assert list(task_dir(entry.name).rglob("*.py")) == []
    base = yaml.safe_load((task_dir(entry.name) / "hydra_configs/conf/base.yaml").read_text(encoding="utf-8"))
    assert base["mephisto"]["blueprint"]["technique"] == recorded_as(entry.name)
    assert {"/mephisto/blueprint": entry.name} in base["defaults"]
    metric = base["mephisto"]["blueprint"]["metric"]
    if entry.questions and metric != "own":  # what the dialogue's own rater was asked
        assert entry.question(metric)


def test_mephisto_knows_the_blueprint_by_the_name(entry: Technique) -> None:
    """Mephisto looks stored runs up by the names that they were launched under."""
    blueprint = blueprint_of(entry.name)
    assert get_blueprint_from_type(entry.name) is blueprint
    assert blueprint is blueprint_of(entry.name)
    assert blueprint.CONFIG is {"live": InteractiveConfig, "judging": StaticConfig}[entry.engine]


def test_what_an_entry_names_exists(entry: Technique) -> None:
    assert known_checks(entry.checks) == entry.checks
    assert entry.amount in blueprint_of(entry.name).CONFIG.model_fields
    assert recorded_as(entry.name) in techniques()


def test_the_readme_lists_each_technique_with_its_source(entry: Technique) -> None:
    rows = [line for line in README.read_text(encoding="utf-8").splitlines() if line.startswith(f"| `{entry.name}` |")]
    assert len(rows) == 1
    assert rows[0].split("|")[3].strip() == entry.source
