"""Only a crowd's own folder and the registry know which crowds there are: no name of one is anywhere else in code."""

from __future__ import annotations

import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import mephisto_tasks
import parlai_humaneval
from mephisto_tasks.crowds.panels.panel import panel_names
from mephisto_tasks.crowds.registry import FOLDERS, crowds
from parlai_humaneval.cli import COMMANDS

ROOTS = (Path(mephisto_tasks.__file__).parent, Path(parlai_humaneval.__file__).parent)
PAGE = ROOTS[0] / "webapp" / "src"
STORED = {
    "crowds/registry.py": "the folders of this package",
    "crowds/mturk/settings.py": "the notice of Amazon's closing says where to go instead",
    "storage/provider_names.py": "the stored names themselves",
    "cli/import_data.py": "results as requesters of the site download them, which can be imported",
    "importers/units.py": "ParlAI's own mark of workers in its old files",
}
"""File → why names of old runs, or of published ones, are in it."""
COMMANDS_OF_A_CROWD = {
    "cli/invite.py": "invitations",
    "cli/pay.py": "panels",
    "cli/demo.py": "invitations",
    "cli/workers.py": "panels",
}
"""Commands for something that only these crowds have: links for people, and a panel's list of submissions."""
HOMES: dict[str, set[str]] = defaultdict(set)
"""Name → folders of the crowds that are called so."""
for crowd in crowds():
    for known in (crowd.place, crowd.provider_type):
        HOMES[known].add(type(crowd).__module__.split(".")[2])
for known in panel_names():
    HOMES[known] |= {"panels", known}  # a panel with a service of its own has a folder, too
SITES = re.compile(
    "|".join(["mturk", r"mechanical\W?turk", *(rf"\b{name}\b" for name in panel_names()), r"(?-i:\bHITs?\b)"]),
    re.IGNORECASE,
)
"""“HIT” is a site's word; “hit” is anybody's."""
PLACE = re.compile(rf"place=({'|'.join(sorted({crowd.place for crowd in crowds()}, key=len, reverse=True))})\b")
PROVIDERS = {crowd.provider_type for crowd in crowds()}
"""As strings of their own: “link” in a sentence is a link."""
ANYWHERE = re.compile(
    rf"{SITES.pattern}|{PLACE.pattern}|[rbf\"'}}]({'|'.join(map(re.escape, PROVIDERS))})[rbf\"'{{]", re.IGNORECASE
)
"""No program without it names a crowd."""


def names_in(text: str) -> Iterator[tuple[int, str]]:
    """Line and name of every crowd in a program's identifiers and strings; comments may tell of them."""
    if not ANYWHERE.search(text):
        return  # most programs: to split those into words, too, takes seconds
    strings = {tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (tokenize.NAME, *strings):
            continue
        for match in (*SITES.finditer(token.string), *PLACE.finditer(token.string)):
            yield token.start[0], match[match.lastindex or 0]
        word = token.string.strip("rbf\"'")
        if token.type in strings and word in PROVIDERS:
            yield token.start[0], word


def names_on_the_page(text: str) -> Iterator[tuple[int, str]]:
    """The same in a script of the raters' page, which has no business with Mephisto's types either."""
    code = re.sub(r"/\*.*?\*/", lambda comment: "\n" * comment[0].count("\n"), text, flags=re.DOTALL)
    for number, line in enumerate(code.splitlines(), 1):
        for match in re.finditer(rf"{SITES.pattern}|provider_type|\bmock\b", line.partition("// ")[0], re.IGNORECASE):
            yield number, match[0]


def names_in_commands(text: str) -> Iterator[tuple[int, str]]:
    """Line and name of every crowd in a ``commands.yaml`` that the command's own module may not name."""
    folder: str | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if command := re.match(r"[\w-]+", line):
            module = COMMANDS.get(command[0], "").partition(":")[0]
            folder = COMMANDS_OF_A_CROWD.get(f"cli/{module.rpartition('.')[2]}.py")
        for match in (*SITES.finditer(line), *PLACE.finditer(line)):
            if folder not in homes(match[match.lastindex or 0]):
                yield number, match[match.lastindex or 0]


def homes(word: str) -> set[str]:
    return HOMES.get(word.lower(), {"mturk"})


def found() -> list[str]:
    places = []
    for root in ROOTS:
        for path in sorted(root.rglob("*.py")):
            name = path.relative_to(root).as_posix()
            folder = name.split("/")[1] if name.startswith("crowds/") else COMMANDS_OF_A_CROWD.get(name)
            for line, word in names_in(path.read_text(encoding="utf-8")) if name not in STORED else ():
                if folder not in homes(word):
                    places.append(f"{root.name}/{name}:{line}: {word}")
    for path in sorted(PAGE.rglob("*.ts*")):
        if not path.match("*.test.*") and "test" not in path.parts:
            named = names_on_the_page(path.read_text(encoding="utf-8"))
            places += [f"{path.relative_to(PAGE).as_posix()}:{line}: {word}" for line, word in named]
    for root in ROOTS:
        described = names_in_commands((root / "cli" / "commands.yaml").read_text(encoding="utf-8"))
        places += [f"{root.name}/cli/commands.yaml:{number}: {word}" for number, word in described]
    for path in sorted((ROOTS[0] / "config").rglob("*.yaml")):
        code = "\n".join(line.partition("#")[0] for line in path.read_text(encoding="utf-8").splitlines())
        places += [f"{path.name}: {match[0]}" for match in SITES.finditer(f"{path.stem}\n{code}")]
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
        'said = "launch it with place=link"\n',
        "x = {'mock': 1}\n",
        'said = f"Ask {who} on Prolific"\n',
        '"""Of SONA\'s students."""\n',
        'words = "HITs may still be there"\n',
        "from mephisto_tasks.crowds.mturk.client import MTurkError\n",
        "text = 'Amazon Mechanical Turk'\n",
    ],
)
def test_the_guard_sees_what_is_planted(planted: str) -> None:
    assert list(names_in(planted))


@pytest.mark.parametrize("planted", ["if (config.provider_type) {\n", 'entry === "mock";\n', 't("Return the HIT")\n'])
def test_the_guard_sees_what_is_planted_in_the_page(planted: str) -> None:
    assert list(names_on_the_page(planted))


def test_the_guard_sees_what_is_planted_in_help() -> None:
    assert list(names_in_commands("returned:\n  help: Of Prolific.\nreport:\n  help: |\n    Of Prolific.\n")) == [
        (5, "Prolific")
    ]


@pytest.mark.parametrize("innocent", ['persona = "a persona"\n', 'words = "Open the link"\n', 'x = "a hit"  # MTurk\n'])
def test_the_guard_leaves_other_words_alone(innocent: str) -> None:
    assert not list(names_in(innocent))


def test_every_exception_is_needed() -> None:
    """An exception for a file without any name would hide the next one there."""
    for name in STORED:
        paths = [root / name for root in ROOTS if (root / name).is_file()]
        assert any(list(names_in(path.read_text(encoding="utf-8"))) for path in paths), name


def test_only_commands_of_a_crowd_import_its_folder() -> None:
    imported = re.compile(rf"from mephisto_tasks\.crowds\.({'|'.join(FOLDERS)})\b")
    importing = {
        path.relative_to(ROOTS[0]).as_posix(): folder
        for path in sorted(ROOTS[0].rglob("*.py"))
        if not path.relative_to(ROOTS[0]).as_posix().startswith("crowds/")
        for folder in imported.findall(path.read_text(encoding="utf-8"))
    }
    assert importing == COMMANDS_OF_A_CROWD
