"""The entries of the techniques, and what must agree with them: folders, blueprints, README and documentation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from mephisto.operations.registry import get_blueprint_from_type

from mephisto_tasks.adapter.blueprint import blueprint_of
from mephisto_tasks.annotation.config import StaticConfig
from mephisto_tasks.chat.config import InteractiveConfig
from mephisto_tasks.config.files import task_dir
from parlai_humaneval.quality.registry import known_checks
from parlai_humaneval.techniques.registry import Technique, recorded_as, techniques

REPOSITORY = Path(__file__).parents[2]
PAGES = REPOSITORY / "docs" / "pages" / "techniques"
LINK = re.compile(r"\[([^]]*)\](?:\([^)]*\)|\[\w+\])")
SECTIONS = [
    "What raters see",
    "Run it",
    "Settings that matter here",
    "Source",
    "What it costs",
    "When to choose it",
]
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


@pytest.mark.parametrize("page", [REPOSITORY / "README.md", PAGES / "index.md"], ids=["README", "site"])
def test_readme_and_site_list_each_technique_with_its_source(entry: Technique, page: Path) -> None:
    """The source as the entry has it; links to papers and to pages apart."""
    text = LINK.sub(r"\1", page.read_text(encoding="utf-8"))
    rows = [line for line in text.splitlines() if line.startswith(f"| `{entry.name}` |")]
    assert len(rows) == 1
    assert rows[0].split("|")[3].strip() == entry.source


def test_each_technique_has_a_page(entry: Technique) -> None:
    """What raters see, how to run it, settings, source, cost, and when to choose it; with a picture that loads quickly."""
    text = (PAGES / f"{entry.name}.md").read_text(encoding="utf-8")
    assert re.findall("^## (.*)$", text, re.MULTILINE) == SECTIONS
    assert f"<!-- included: technique/{entry.name}.md -->" in text
    assert (f"<!-- included: cost/{entry.name}.md -->" in text) is (entry.habits is not None)
    assert (PAGES / "pictures" / f"{entry.name}.png").stat().st_size <= 60_000
    assert f"](pictures/{entry.name}.png)" in text
