"""Modules, and names in them, by the names that they had before they moved."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import warnings
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from parlai_humaneval import analysis
from parlai_humaneval._util import plugins
from parlai_humaneval._util.renamed import new_names
from parlai_humaneval.tables.example import example_tables
from parlai_humaneval.tables.files import write_tables

OLD_PACKAGE = Path(__file__).parents[1] / "data" / "own_package_0_2"
"""The package in the documentation of version 0.2.0, as it was."""


def test_every_old_name_names_a_module_that_exists_and_no_module_of_today() -> None:
    """Guards the table: a line must neither lead nowhere nor hide a module."""
    code = (
        "import warnings; warnings.simplefilter('ignore')\n"
        "from importlib.util import find_spec\n"
        "from parlai_humaneval._util.renamed import new_names, _OldNames\n"
        "for old, new in new_names().items():\n"
        "    if ':' in old:\n"
        "        continue\n"
        "    assert find_spec(new) is not None, new\n"
        "    if not old.endswith('__main__'):\n"
        "        assert isinstance(find_spec(old).loader, _OldNames), old\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("parlai_humaneval.showing.identity_names", "parlai_humaneval.display.vocabulary", None),
        ("parlai_humaneval.report.catalogue", "parlai_humaneval.report.registry", "register_section"),
        ("parlai_humaneval.protocol.records.dialogue", "parlai_humaneval.schema.records", "DialogueRecord"),
        ("mephisto_tasks.workers.kept_out", "mephisto_tasks.storage.logs", None),
    ],
)
def test_an_old_name_is_the_very_module_of_today_and_warns(old: str, new: str, name: str | None) -> None:
    """Guards packages of other people: classes imported by either name are the same."""
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=f"{old} is now {new}"):
        module = import_module(old)
    assert module is import_module(new)
    if name is not None:
        assert hasattr(module, name)


def _moved() -> dict[str, str]:
    return {old: new for old, new in new_names().items() if ":" in old}


@pytest.mark.parametrize(("old", "new"), _moved().items(), ids=_moved())
def test_a_name_that_has_left_a_module_is_the_very_object_of_today_and_warns(old: str, new: str) -> None:
    """Guards packages of other people, and the table: a line must neither lead nowhere nor hide a name of today."""
    (module, name), (home, new_name) = old.split(":"), new.split(":")
    assert name not in vars(import_module(module))
    assert module not in new_names(), "the line must have the module's name of today"
    with pytest.warns(DeprecationWarning, match=re.escape(f"{module}.{name} is now {home}.{new_name};")):
        moved = getattr(import_module(module), name)
    assert moved is vars(import_module(home))[new_name]


def test_a_name_that_has_left_a_module_is_there_by_the_old_name_of_the_module_too() -> None:
    """Guards crowds of other people: both the module and the name may have moved."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        contract, today = (
            import_module("mephisto_tasks.crowds.contract"),
            import_module("mephisto_tasks.admission.visits"),
        )
        arrivals = import_module("mephisto_tasks.crowds.link.arrivals")
        assert issubclass(contract.NotYetKnown, Exception)
        assert arrivals.TurnedAway is today.TurnedAway
    with pytest.raises(AttributeError, match=r"module 'mephisto_tasks.crowds.crowd' has no attribute 'NotYetKnwn'"):
        _ = contract.NotYetKnwn


@pytest.fixture
def old_package(tmp_path: Path) -> Path:
    """A folder for Python's path in which the package of version 0.2.0 is installed."""
    shutil.copytree(OLD_PACKAGE / "polite_package", tmp_path / "site" / "polite_package")
    (entry,) = re.findall(r'^polite = "(.*)"$', (OLD_PACKAGE / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    info = tmp_path / "site" / "polite_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: polite-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{plugins.GROUP}]\npolite = {entry}\n")
    return tmp_path / "site"


def test_the_package_in_the_documentation_of_version_0_2_still_works(old_package: Path, tmp_path: Path) -> None:
    """Guards everybody who wrote one like it: a plug-in that cannot be loaded ends every command."""
    tables = example_tables()
    write_tables(replace(tables, turns=tables.turns.assign(text="A reply.")), tmp_path / "tables")
    path = os.pathsep.join(filter(None, (str(old_package), os.environ.get("PYTHONPATH"))))
    program = [sys.executable, "-W", "always", "-c", "from parlai_humaneval.cli import main; main()"]

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": path}
        done = subprocess.run([*program, *arguments], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "parlai_humaneval.techniques.PW_TURN is now parlai_humaneval.techniques.registry.PW_TURN" in done.stderr
        return done

    reported = run("report", "--tables", str(tmp_path / "tables"), "--draws", "100", "--json")
    assert json.loads(reported.stdout)["longest_replies"]["characters"] == dict.fromkeys(("ada", "bob", "cyd"), 8)
    assert "PoliteTurn" in run("launch", "--help").stdout


def test_a_program_starts_by_its_old_name() -> None:
    """Guards ``python -m`` in people's scripts."""
    command = [sys.executable, "-W", "ignore", "-m", "parlai_humaneval.self_chat.multirun", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "num_dialogues" in done.stdout, done.stderr


@pytest.mark.parametrize(
    "name", ["parlai_humaneval.showing.nothing", "parlai_humaneval.agents.nothing", "eliza"], ids=lambda name: name
)
def test_what_never_was_is_not_found(name: str) -> None:
    """Guards misspelt agents, and packages of other people that are called as one of ours."""
    with pytest.raises(ModuleNotFoundError, match=f"No module named '{name}'"):
        import_module(name)
    assert name not in new_names()


def test_an_old_name_of_the_analysis_is_what_has_another_name_today_and_warns() -> None:
    """Guards scripts of other people."""
    for old, new in analysis._RENAMED.items():
        with pytest.warns(DeprecationWarning, match=f"{old} is now {new};"):
            found = getattr(analysis, old)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert found is getattr(analysis, new)


def test_the_analysis_has_few_names_and_gives_those_that_were_public_with_a_warning() -> None:
    """Guards scripts of other people, and a list that somebody can read."""
    assert len(analysis.__all__) <= 80
    for old, home in analysis._HOMES.items():
        with pytest.warns(DeprecationWarning, match=f"{old} is internal now and is in {home}"):
            assert getattr(analysis, old) is getattr(import_module(home), old)
        assert old not in analysis.__all__
