"""The house stays within its numbers: a ceiling that falls with every clean-up, and may not rise without one.

On the way to 80,000 lines in 420 files: who needs a higher ceiling finds what the new code makes superfluous first.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REPOSITORY = Path(__file__).parents[1]
LINES = 96_610
FILES = 409
LONGEST = 600
"""Lines of a file, which has one idea."""
SHORTEST = 80
"""Lines of a file that needs no reason; with fewer, it belongs to a neighbour, or is one of these."""
SHORT = {
    "mephisto_tasks/__main__.py": "python -m mephisto_tasks",
    "mephisto_tasks/_util/gc.py": "commands import it at their start",
    "mephisto_tasks/cli/import_data.py": "adds Mephisto's reader to a command of the other package",
    "mephisto_tasks/crowds/invitations/gate.py": "needs the web server, which only a launch loads",
    "mephisto_tasks/crowds/local/crowd.py": "a crowd has a folder",
    "mephisto_tasks/crowds/mturk/settings.py": "every command loads it; its client loads Amazon's library",
    "mephisto_tasks/crowds/prolific/settings.py": "every command loads it, and not the crowd's launch",
    "mephisto_tasks/crowds/prolific/statuses.py": "a space of names: six files say statuses.ACTIVE",
    "mephisto_tasks/storage/provider_names.py": "every command and every room above imports it",
    "parlai_humaneval/_util/arrays.py": "loads numpy, which its neighbours must not",
    "parlai_humaneval/_util/plugins.py": "every command imports it at its start",
    "parlai_humaneval/cli/parlai.py": "a command that hands everything to ParlAI",
    "parlai_humaneval/cli/self_chat_multirun.py": "python -m; must be imported before Hydra finds plug-ins",
    "parlai_humaneval/cli/self_chat_script.py": "ParlAI loads it by its name",
    "parlai_humaneval/materials/consent.py": "its sentences are those of the page, and found by its name",
    "parlai_humaneval/models/baselines/eliza.py": "an agent is a module",
    "parlai_humaneval/models/bot_speaker/growth.py": "threads write what the page reads: alone with its lock",
    "parlai_humaneval/schema/pseudonyms.py": "the only file that knows the key of the pseudonyms",
}
"""File → why it is one of its own."""
EXCEPTIONS = {
    "mephisto_tasks.session.agent_state -> mephisto",
    "mephisto_tasks.workers.qualifications -> mephisto",
}
"""Imports that the contracts of ``pyproject.toml`` leave out; the list may only shrink."""


def _lengths() -> dict[str, int]:
    return {
        path.relative_to(REPOSITORY).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for package in ("parlai_humaneval", "mephisto_tasks")
        for path in (REPOSITORY / package).rglob("*.py")
        if "node_modules" not in path.parts
    }


def test_the_product_stays_within_its_ceilings() -> None:
    """Lines and files of Python, and the longest file: what grows beyond them is said by name."""
    lengths = _lengths()
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST} == {}
    assert len(lengths) <= FILES
    assert sum(lengths.values()) <= LINES


def test_a_short_file_has_a_reason() -> None:
    """A file of a few lines makes readers open two; a reason whose file has grown or gone is none."""
    short = {
        name
        for name, lines in _lengths().items()
        if lines < SHORTEST and not name.endswith("/__init__.py") and "/webapp/" not in name
    }
    assert short == set(SHORT)


def test_no_more_imports_are_left_out_of_the_contracts() -> None:
    """An exception that is added quietly would be the first of many."""
    contracts = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8").partition("[tool.importlinter]")[2]
    assert set(re.findall(r'"(\S+ -> \S+)"', contracts)) <= EXCEPTIONS


def _layered() -> list[dict[str, Any]]:
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    return [contract for contract in settings["contracts"] if contract["type"] == "layers"]


def test_every_contract_of_layers_is_exhaustive() -> None:
    """Guards against a new file beside the layers of its folder, which no contract would look at."""
    assert {"benchmarks", "docs"} <= {name for contract in _layered() for name in contract["containers"]}
    assert [contract["name"] for contract in _layered() if not contract.get("exhaustive")] == []


def test_every_folder_is_a_layer_of_a_contract() -> None:
    """Guards against a new folder at any depth: its parent has a contract, and sees it only where it is a package."""
    containers = {name for contract in _layered() for name in contract["containers"]}
    folders = {
        path.parent.relative_to(REPOSITORY)
        for package in ("parlai_humaneval", "mephisto_tasks")
        for path in (REPOSITORY / package).glob("*/**/*.py")
        if "webapp" not in path.parts
    }
    assert {folder.as_posix() for folder in folders if ".".join(folder.parts[:-1]) not in containers} == set()
    assert {folder.as_posix() for folder in folders if not (REPOSITORY / folder / "__init__.py").is_file()} == set()
