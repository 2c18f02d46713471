"""Only a crowd's own folder and the registry know which crowds there are: no name of one is anywhere else in code.

What counts as a name: the word of ``place=…``, Mephisto's type in databases, a panel's name, and the name of a site. The
last two count in any capitals and inside longer identifiers, too; the others are words of any sentence and count where
they are a string of their own, or a word of a list that is written as a string. What counts as code: every identifier and
string of a program (in comparisons, defaults, keys and docstrings alike), every
script, template, query and settings file of the two packages, and every import of a crowd's folder. What does not: comments,
tests, examples and documentation pages. Help in ``commands.yaml`` is for people, too; there a crowd may be named by a
command for something that only crowds with an ability have, and only crowds with that ability.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import mephisto_tasks
import parlai_humaneval
from mephisto_tasks.crowds.crowd import Crowd
from mephisto_tasks.crowds.panels.panel import panel_names
from mephisto_tasks.crowds.registry import FOLDERS, crowds

ROOTS = (Path(mephisto_tasks.__file__).parent, Path(parlai_humaneval.__file__).parent)
CROWDS = ROOTS[0] / "crowds"
STORED = {
    ("config/names.py", "local"): "a conf that users type is called so, too",
    ("config/hydra_configs/conf/live.yaml", "local"): "where raters come from unless a launch says it",
    ("config/hydra_configs/conf/static.yaml", "local"): "the same",
    ("cli/invite.py", "link"): "a column and a JSON key that users read",
    ("cli/import_data.py", "mturk"): "results as requesters of the site download them, which can be imported",
    ("importers/units.py", "mturk"): "ParlAI's own mark of workers in its old files",
    ("data/releases.yaml", "mturk"): "columns of published data",
    ("data/releases.yaml", "hit"): "the same",
    ("data/import_words.yaml", "prolific"): "a column of files that can be imported",
    ("data/releases.yaml", "mechanical turk"): "the site where results can be downloaded",
    ("report/methods.yaml", "hit"): "what a paper did",
    ("data/disclosures.yaml", "sona"): "Turkish",
    ("data/disclosures.yaml", "turk"): "BERTurk, a model for Turkish",
    ("data/import_words.yaml", "turker"): "a column of files that can be imported",
    ("data/releases.yaml", "turker"): "columns of published data",
    ("data/releases.yaml", "turk"): "the site where results can be downloaded",
    ("data/releases.yaml", "amazon.com"): "the same",
    ("importers/units.py", "turk"): "the same mark of workers",
    ("materials/contexts.py", "turker"): "a key of ParlAI's published contexts",
    ("storage/provider_names.py", "_sandbox"): "what Mephisto adds to names in every sandbox, that on this machine too",
    ("importers/readers.py", "_sandbox"): "the same in files that can be imported",
}
"""File and name → why it stays there: stored names of old runs, published ones, and other words. It may only shrink."""
NAMED_IN_CROWDS = {
    "registry.py": "the folders of this package",
    "mturk/settings.py": "where to go now that it is closed",
}
"""The same of a whole file among the crowds."""
ABILITIES: dict[str, Callable[[Crowd], object]] = {"invite": lambda crowd: crowd.invitations(Path(), "a study")}
"""Command → the ability that it needs; its help may name the crowds that have it."""
HOMES: dict[str, set[str]] = defaultdict(set)
"""Name → folders of the crowds that are called so."""
for crowd in crowds():
    for known in (crowd.place, crowd.provider_type):
        HOMES[known].add(type(crowd).__module__.split(".")[2])
HOMES["link"].add("link")  # what these crowds share
for known in panel_names():
    HOMES[known] |= {"panels", known}  # a panel with a service of its own has a folder, too
HOMES["cloudresearch.com"] = HOMES["cloudconnect"]
SITES = re.compile(
    "|".join(
        [
            "mturk",
            r"mechanical\W?turk",
            r"\b(?:turk(?:er)?s?|amt)\b",
            r"(?<!\w)_sandbox\b",
            r"\b(?:amazon|cloudresearch)\.com\b",
            *(rf"\b{name}\b" for name in panel_names()),
            r"(?-i:\bHITs?\b)",
        ]
    ),
    re.IGNORECASE,
)
"""“HIT” is a site's word; “hit” is anybody's. Domains of the other sites contain the names of their panels."""
NAMES = {name for crowd in crowds() for name in (crowd.place, crowd.provider_type)}
"""As strings of their own: “link” in a sentence is a link."""
ANY_NAME = "|".join(sorted(map(re.escape, NAMES), key=len, reverse=True))
PLACE = re.compile(rf"\bplace(?:=|: ?)[\"']?({ANY_NAME})\b", re.IGNORECASE)
QUOTED = re.compile(rf"([\"'`])({ANY_NAME})\1", re.IGNORECASE)
HUMPS = re.compile(r"_|(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""Where identifiers are cut into words: ``_``, and capitals as in ``ofSona`` and ``SONAStudy``."""
ROOMS = {*FOLDERS, "invitations", "link"}
"""Folders of crowds, by which a module's name would tell which crowd it is."""
ANYWHERE = re.compile(rf"[\"'][^\"'\n]*\b({ANY_NAME})\b[^\"'\n]*[\"']|__module__", re.IGNORECASE)
"""Strings with such a name. No program without them, or a site, names a crowd."""
PARTS = re.compile(r"[\"']\s+[rbfu]*[\"']", re.IGNORECASE)
"""The end of a string before the start of another: one string for Python."""
COMMENTS = {
    (".yaml", ".yml"): r"(?m)(^|\s)#.*$",
    (".sql",): r"--.*",
    (".js", ".ts", ".tsx", ".css"): r"(?s)/\*.*?\*/|(?<![:\w])//[^\n]*",
    (".html", ".j2", ".jinja"): r"(?s)<!--.*?-->|\{#.*?#\}",
}
"""Suffixes of all that is neither Python nor documentation → its comments."""


def named(text: str) -> Iterator[re.Match[str]]:
    """Sites and places, also in parts of identifiers. Lines stay where they are, and so do the places of all else."""
    seen = set()
    for match in (*SITES.finditer(text), *PLACE.finditer(text), *SITES.finditer(HUMPS.sub(" ", text))):
        at = text.count("\n", 0, match.start()), match[match.lastindex or 0].lower()
        if at not in seen:
            yield match
        seen.add(at)


def names_in_parts(text: str) -> Iterator[tuple[int, str]]:
    """Line and name of every crowd in a program's strings, those that are written in parts as they are together."""
    for node in ast.walk(ast.parse(text)) if PARTS.search(text) else ():
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for match in named(node.value):
                yield node.lineno, match[match.lastindex or 0]
            if node.value.lower() in NAMES:
                yield node.lineno, node.value.lower()


def names_in(text: str) -> Iterator[tuple[int, str]]:
    """Line and name of every crowd in a program's identifiers and strings; comments may tell of them."""
    yield from names_in_parts(text)
    if not ANYWHERE.search(text) and next(named(text), None) is None:
        return  # most programs: to split those into words, too, takes seconds
    strings = {tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    tokens = [*tokenize.generate_tokens(io.StringIO(text).readline)]
    for token, *after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if token.type not in (tokenize.NAME, *strings):
            continue
        for match in named(token.string):
            yield token.start[0], match[match.lastindex or 0]
        if token.type in strings:
            word = re.sub(r"^[rbfu]*(?=[\"'])", "", token.string, flags=re.IGNORECASE).strip("\"'").lower()
            is_list = [each.string for each in after] == [".", "split"]
            of_module = ROOMS if "__module__" in token.line else set()
            for each in re.findall(r"\w+", word) if is_list else [word]:
                if each in NAMES | of_module:
                    yield token.start[0], each


def names_in_other(text: str, suffix: str) -> Iterator[tuple[int, str]]:
    """The same of a script, template, query or file of settings. No page has any business with Mephisto's types."""
    (comments,) = (pattern for suffixes, pattern in COMMENTS.items() if suffix in suffixes)
    code = re.sub(comments, lambda comment: "\n" * comment[0].count("\n"), text)
    types = r"provider_type|\bmock\b" if suffix in (".js", ".ts", ".tsx", ".html") else r"(?!)"
    for match in (*named(code), *QUOTED.finditer(code), *re.finditer(types, code, re.IGNORECASE)):
        yield code.count("\n", 0, match.start()) + 1, match[match.lastindex or 0]


def imports_in(text: str, folders: set[str]) -> Iterator[tuple[int, str]]:
    """Line and folder of every import of one of these folders among the crowds, in functions and for types alike."""
    for node in ast.walk(ast.parse(text)) if "crowds" in text else ():
        modules = [each.name for each in node.names] if isinstance(node, (ast.Import, ast.ImportFrom)) else []
        if isinstance(node, ast.ImportFrom):
            modules = [f"{node.module or ''}.{name}" for name in modules]
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            modules = [node.value]  # for ``import_module``
        for module in modules:
            found = re.match(r"(?:mephisto_tasks)?\.?crowds\.(\w+)", module)
            if found and found[1] in folders:
                yield getattr(node, "lineno", 0), found[1]


def names_in_commands(text: str) -> Iterator[tuple[int, str]]:
    """Line and name of every crowd in a ``commands.yaml`` that has not the ability for which there is the command."""
    able: set[str] = set()
    for number, line in enumerate(text.splitlines(), 1):
        if command := re.match(r"[\w-]+", line):
            has = ABILITIES.get(command[0], lambda crowd: None)
            able = {type(crowd).__module__.split(".")[2] for crowd in crowds() if has(crowd) is not None}
        for match in named(line):
            if not able & homes(match[match.lastindex or 0]):
                yield number, match[match.lastindex or 0]


def homes(word: str) -> set[str]:
    return HOMES.get(word.lower(), {"mturk"})


def found() -> Iterator[tuple[str, int, str]]:
    """File (below its package), line and name, wherever a crowd is named outside its folder."""
    for root in ROOTS:
        for path in sorted(path for path in root.rglob("*") if path.suffix == ".py" or _is_other_code(path)):
            name = path.relative_to(root).as_posix()
            if name.startswith("crowds/") and path.relative_to(CROWDS).as_posix() in NAMED_IN_CROWDS:
                continue
            text = path.read_text(encoding="utf-8")
            if path.name == "commands.yaml":
                named = names_in_commands(text)
            else:
                named = names_in(text) if path.suffix == ".py" else names_in_other(text, path.suffix)
            folder = name.split("/")[1] if name.startswith("crowds/") else ""
            for line, word in named:
                if folder not in homes(word) and not (folder and word == "provider_type"):
                    yield name, line, word


def _is_other_code(path: Path) -> bool:
    made = {"node_modules", "dist", "new_dist"} & set(path.parts) or path.match("viewer/static/*")
    of_tests = path.match("*.test.*") or "test" in path.parts
    return any(path.suffix in suffixes for suffixes in COMMENTS) and not made and not of_tests


def test_no_crowd_is_named_outside_its_folder() -> None:
    """Nor is a reason kept for a name that has gone: it would hide the next one there."""
    places = list(found())
    assert [f"{name}:{line}: {word}" for name, line, word in places if (name, word.lower()) not in STORED] == []
    assert STORED.keys() <= {(name, word.lower()) for name, _, word in places}


def test_nobody_imports_a_crowds_folder() -> None:
    """What others need of a crowd, they ask the registry for."""
    folders = {path.name for path in CROWDS.iterdir() if path.is_dir()}
    assert folders >= {*FOLDERS, "link"}
    for root in ROOTS:
        for path in sorted(path for path in root.rglob("*.py") if CROWDS not in path.parents):
            assert not list(imports_in(path.read_text(encoding="utf-8"), folders)), path


@pytest.mark.parametrize(
    "planted",
    [
        "if provider == 'mturk':\n    pass\n",
        "ON_MTURK = ()\n",
        "def is_on_mturk() -> bool: ...\n",
        'place = "link"\n',
        "def launch(place: str = 'local') -> None: ...\n",
        "is_pilot = place == 'local'\n",
        'said = "launch it with place=link"\n',
        "x = {'mock': 1}\n",
        'said = f"Ask {who} on Prolific"\n',
        '"""Of SONA\'s students."""\n',
        'words = "HITs may still be there"\n',
        "text = 'Amazon Mechanical Turk'\n",
        "prolific_study = None\n",
        "def of_sona_students() -> None: ...\n",
        "class ProlificStudy: ...\n",
        "ids = askTolokaFor(HIT_ID)\n",
        'export = "prolific_export.csv"\n',
        'places = "x local".split()\n',
        'is_here = place.upper() == "LOCAL"\n',
        'place = u"local"\n',
        'is_theirs = "invitations" in type(crowd).__module__\n',
        'stored = name + "_sandbox"\n',
        'is_paid = place == "turk"\n',
        "amt_workers = {}\n",
        "def of_turkers() -> None: ...\n",
        'pay_at = "https://www.cloudresearch.com/pay"\n',
        'site = "requester.amazon.com"\n',
        'is_there = place == "lo" "cal"\n',
        'text = (\n    "on Mechanical "\n    "Turk"\n)\n',
        'said = "Ask on Pro" f"lific, {who}"\n',
    ],
)
def test_the_guard_sees_what_is_planted(planted: str) -> None:
    assert list(names_in(planted))


@pytest.mark.parametrize(
    "planted",
    [
        "from mephisto_tasks.crowds.mturk.client import MTurkError\n",
        "from mephisto_tasks.crowds import panels\n",
        "import mephisto_tasks.crowds.link.crowd\n",
        "def pay():\n    from mephisto_tasks.crowds.invitations.store import Person\n",
        "import_module('mephisto_tasks.crowds.local.crowd')\n",
        "from ..crowds.panels import payer\n",
    ],
)
def test_the_guard_sees_an_import(planted: str) -> None:
    assert list(imports_in(planted, {*FOLDERS, "link"}))


@pytest.mark.parametrize(
    ("planted", "suffix"),
    [
        ("if (config.provider_type) {\n", ".tsx"),
        ('return { provider_type: "mock" };\n', ".js"),
        ('t("Return the HIT") // of a site\n', ".ts"),
        ("  - place: local  # here\n", ".yaml"),
        ("ask: look at Prolific\n", ".yaml"),
        ("SELECT 1 WHERE provider_type = 'mturk'\n", ".sql"),
        ("<p>{# here #} on MTurk</p>\n", ".html"),
        ("if (place === 'local') {\n", ".ts"),
        ("const prolificPid = query.get(key);\n", ".ts"),
        ("  - place: 'link'\n", ".yaml"),
        ("sona_id: 1\n", ".yaml"),
        ("SELECT 1 WHERE type IN ('x', 'mock')\n", ".sql"),
    ],
)
def test_the_guard_sees_what_is_planted_elsewhere(planted: str, suffix: str) -> None:
    assert list(names_in_other(planted, suffix))


def test_the_guard_sees_what_is_planted_in_help() -> None:
    planted = (
        "returned:\n  help: Of Prolific.\nreport:\n  help: |\n    Of SONA.\ninvite:\n  help: place=link, place=mturk\n"
    )
    assert list(names_in_commands(planted)) == [(2, "Prolific"), (5, "SONA"), (7, "mturk")]


@pytest.mark.parametrize(
    "innocent",
    [
        'persona = "a persona"\n',
        'words = "Open the link"\n',
        'words = "a local link".format()\n',
        "local_link = is_mock(link)\n",
        "hits = by_persona_id\n",
        'x = "a hit"  # MTurk\n',
        "owed_in_sandbox = is_sandbox\n",
    ],
)
def test_the_guard_leaves_other_words_alone(innocent: str) -> None:
    assert not list(names_in(innocent))
    assert not list(imports_in("from mephisto_tasks.crowds.registry import crowds\n", {*FOLDERS, "link"}))
    assert not list(names_in_other("# as MTurk counts\nurl: https://example.org\nsays: a local link\n", ".yaml"))
    assert not list(names_in_other("const link = mocks(local);\n", ".ts"))
