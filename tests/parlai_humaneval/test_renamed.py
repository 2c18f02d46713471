"""Modules by the names that they had before they moved."""

from __future__ import annotations

import subprocess
import sys
import warnings
from importlib import import_module

import pytest

from parlai_humaneval import analysis
from parlai_humaneval._util.renamed import new_names


def test_every_old_name_names_a_module_that_exists_and_no_module_of_today() -> None:
    """Guards the table: a line must neither lead nowhere nor hide a module."""
    code = (
        "import warnings; warnings.simplefilter('ignore')\n"
        "from importlib.util import find_spec\n"
        "from parlai_humaneval._util.renamed import new_names, _OldNames\n"
        "for old, new in new_names().items():\n"
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
