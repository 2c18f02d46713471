"""Only a crowd's own folder and the registry know which crowds there are: no name of one is anywhere else in code."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

import mephisto_tasks
import parlai_humaneval
from mephisto_tasks.crowds.panels.panel import panel_names
from mephisto_tasks.crowds.registry import FOLDERS, crowds

ROOTS = (Path(mephisto_tasks.__file__).parent, Path(parlai_humaneval.__file__).parent)
OWN = {"crowds/registry.py", *(f"crowds/{folder}/" for folder in (*FOLDERS, "link"))}
STORED = {
    "report/sections/direct_assessment.py": "a paper's own unit of work",
    "statistics/core/correlation.py": "the same",
    "storage/provider_names.py": "the stored names themselves",
    "importers/units.py": "ParlAI's own mark of workers in its old files",
}
"""File → why names of old runs, or of published ones, are in it."""
SITES = re.compile(
    "|".join(["mturk", r"mechanical\W?turk", *(rf"\b{name}\b" for name in panel_names())]), re.IGNORECASE
)
OF_A_SITE = re.compile(r"\bHITs?\b")
"""“HIT” is a site's word; “hit” is anybody's."""
PROVIDERS = {crowd.provider_type for crowd in crowds()}
"""As strings of their own: “link” in a sentence is a link."""
NOT_A_PROVIDER = {
    "cli/invite.py": "a column of a table, and what a file of a nameless person is called",
}


def names_in(text: str) -> Iterator[tuple[int, str]]:
    """Line and name of every crowd in a program's identifiers and strings; comments may tell of them."""
    strings = {tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (tokenize.NAME, *strings):
            continue
        if (match := SITES.search(token.string) or OF_A_SITE.search(token.string)) is not None:
            yield token.start[0], match[0]
        elif token.type in strings and token.string.strip("rbf\"'") in PROVIDERS:
            yield token.start[0], token.string


def found() -> list[str]:
    places = []
    for root in ROOTS:
        for path in sorted(root.rglob("*.py")):
            name = path.relative_to(root).as_posix()
            if name in OWN or any(name.startswith(own) for own in OWN if own.endswith("/")) or name in STORED:
                continue
            for line, word in names_in(path.read_text(encoding="utf-8")):
                if name in NOT_A_PROVIDER and word.strip("\"'") in PROVIDERS:
                    continue
                places.append(f"{root.name}/{name}:{line}: {word}")
    return list(dict.fromkeys(places))


def test_no_crowd_is_named_outside_its_folder() -> None:
    assert found() == []


@pytest.mark.parametrize(
    "planted",
    [
        "if provider == 'mturk':\n    pass\n",
        "ON_MTURK = ()\n",
        "def is_on_mturk() -> bool: ...\n",
        'place = "link"\n',
        "x = {'mock': 1}\n",
        'said = f"Ask {who} on Prolific"\n',
        '"""Of SONA\'s students."""\n',
        'words = "HITs may still be there"\n',
        "from mephisto_tasks.crowds.mturk.errors import MTurkError\n",
        "text = 'Amazon Mechanical Turk'\n",
    ],
)
def test_the_guard_sees_what_is_planted(planted: str) -> None:
    assert list(names_in(planted))


@pytest.mark.parametrize("innocent", ['persona = "a persona"\n', 'words = "Open the link"\n', 'x = "a hit"  # MTurk\n'])
def test_the_guard_leaves_other_words_alone(innocent: str) -> None:
    assert not list(names_in(innocent))


def test_every_exception_is_needed() -> None:
    """An exception for a file without any name would hide the next one there."""
    for name in STORED:
        path = next(root / name for root in ROOTS if (root / name).is_file())
        assert list(names_in(path.read_text(encoding="utf-8"))), name


COMMANDS_OF_A_CROWD = {
    "cli/invite.py": "invitations",
    "cli/pay.py": "panels",
    "cli/try_model.py": "invitations",
    "cli/workers.py": "panels",
}
"""Commands for something that only these crowds have: links for people, and a panel's list of submissions."""


def test_only_commands_of_a_crowd_import_its_folder() -> None:
    imported = re.compile(rf"from mephisto_tasks\.crowds\.({'|'.join(FOLDERS)})\b")
    importing = {
        path.relative_to(ROOTS[0]).as_posix(): folder
        for path in sorted(ROOTS[0].rglob("*.py"))
        if not path.relative_to(ROOTS[0]).as_posix().startswith("crowds/")
        for folder in imported.findall(path.read_text(encoding="utf-8"))
    }
    assert importing == COMMANDS_OF_A_CROWD
