"""Check the English that users and maintainers read: ``python tests/docs/english.py``, a part of `make lint`.

Patterns find some breaches of the page on writing, and Harper, a grammar checker that needs no network, finds faults.
``english_accepted.txt`` lists findings that are none. A finding that is not listed fails, and so does a line of the list
whose finding is gone: the list only shrinks.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import yaml
from babel.messages.pofile import read_po
from pages import REPOSITORY, documents

ACCEPTED = Path(__file__).with_name("english_accepted.txt")
RULES = {
    "a clause has a noun for its subject": r"(?:^|[.;:] )[Ww]ho(?:ever)? (?!are you|may take|says the|came when)|"
    r"\b(?:for|of|by|with|to|let) who\b(?! may take part)",
    "help is an imperative, or a complete noun phrase": r"^(?:Of|So many|By|As of|The same of|How is) ",
    "plain words": r"\b(?:anew(?!\))|beside|thereof|one's own|of yours|be had|be told|is told|are told)\b|"
    r"\bas ever\b|\bever after\b|\bgoes? by (?!hand)|\bstands? (?:in|at|before|for|where|alone|twice)\b",
    "is not a": r"(?<!here )\b(?:is|are) no (?!longer|more\b|less\b|one\b)",
}
GROUPS = ("Grammar and Agreement", "Pronouns and Possession")
MORE = ("AnA", "AvoidAndAlso", "RepeatedWords", "ThenThan")
NOISE = ("MassNouns", "MissingTo", "MoreAdjective", "MultipleSequentialPronouns", "NounVerbConfusion",
         "OneOfTheSingular", "PossessiveNoun", "QuantifierNumeralConflict")  # fmt: skip
"""Rules that find faults in good sentences, because they take one word for another."""
SETTINGS = ("config.py", "presenter.py", "settings.py", "stopping.py", "task.py")
PATTERNS = ("disclosures.yaml", "english.yaml")
"""Files that are not checked: expressions that match what chatbots say of themselves, in several languages."""
NO_PROSE = re.compile(r"\(\?[:<!]|\\[bdswb(]|\b(?:FROM|INTO|SELECT|UPDATE) |-src '|\bfrom \w+ import |^[a-z_' ]{60,}$")
AT_ONCE = 60  # paragraphs, of which a longer text takes more than its share of time
CONTEXT = 30


def texts() -> Iterator[str]:
    """Paragraphs of pages and templates, help texts, messages, and texts of the rater's page."""
    for page in [*documents(), REPOSITORY / "CHANGELOG.md"]:
        text = re.sub(r"<!--.*?-->|^```.*?^```", "", page.read_text("utf-8"), flags=re.S | re.M)
        yield from re.split(r"\n\s*\n|\n(?=- )", re.sub(r"\\\(.*?\\\)|\$\$.*?\$\$", "`x`", text, flags=re.S))
    for package in ("parlai_humaneval", "mephisto_tasks"):
        for file in sorted((REPOSITORY / package).rglob("*.py")):
            yield from _strings(file)
        for file in sorted(file for suffix in ("j2", "jinja") for file in (REPOSITORY / package).rglob(f"*.{suffix}")):
            text = re.sub(r"\{\{.*?\}\}", "`x`", file.read_text("utf-8"), flags=re.S)
            text = re.sub(r"<(style|script).*?</\1>|\{[%#].*?[%#]\}|<[^>]*>", "\n\n", text, flags=re.S)
            yield from re.split(r"\n\s*\n", text)
        for file in sorted((REPOSITORY / package).rglob("*.yaml")):
            if file.name not in PATTERNS and "node_modules" not in file.parts:
                yield from _leaves(yaml.safe_load(file.read_text("utf-8")))
    for file in sorted((REPOSITORY / "zoo_configs").glob("*.yaml")):
        yield from _configs(file)
    for file in sorted((REPOSITORY / "mephisto_tasks/webapp/src/new").glob("[A-Z]*.tsx")):
        yield from _screen(file)
    with (REPOSITORY / "parlai_humaneval" / "i18n" / "zh.po").open("rb") as catalog:
        for entry in read_po(catalog):
            yield from [entry.id] if isinstance(entry.id, str) else entry.id


@cache
def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"))


def _strings(file: Path) -> Iterator[str]:
    """Strings with the docstrings of public functions and the descriptions of settings, without other docstrings."""
    tree, skipped = _tree(file), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node in tree.body and not node.name.startswith("_"):
            yield from re.split(r"\n\s*\n", re.sub(r":\w+:`+([^`]*)`+|``", r"`\1`", ast.get_docstring(node) or ""))
        body = getattr(node, "body", None)
        for before, each in zip([None, *body], body, strict=False) if isinstance(body, list) else ():
            if isinstance(each, ast.Expr) and not (file.name in SETTINGS and isinstance(before, ast.AnnAssign)):
                skipped.add(id(each.value))
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(piece) for piece in node.values}
            yield "".join(str(piece.value) if isinstance(piece, ast.Constant) else "`x`" for piece in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            yield from re.split(r"\n\s*\n", re.sub(r"%[.\d]*[a-z]\b|\{[^}]*\}", "`x`", node.value))


def _docstrings(file: Path) -> Iterator[str]:
    """Paragraphs of the docstrings of a module, and of all its classes, methods, functions, fields and constants."""
    for node in ast.walk(_tree(file)):
        body = getattr(node, "body", None)
        for each in body if isinstance(body, list) else ():
            if (
                isinstance(each, ast.Expr)
                and isinstance(each.value, ast.Constant)
                and isinstance(each.value.value, str)
            ):
                yield from re.split(r"\n\s*\n", re.sub(r"(:\w+:)?`+[^`]*`+", "`x`", each.value.value))


def _comments(file: Path) -> Iterator[str]:
    """Comments, by lines: to tell them from signs in strings takes seconds, and few strings hold “  # ”."""
    text = re.sub(r"`+[^`\n]*`+", "`x`", file.read_text("utf-8"))
    yield from (re.sub(r"^\s*#:? ?", "", lines, flags=re.M) for lines in re.findall(r"(?:^ *#:? .*\n)+", text, re.M))
    yield from re.findall(r"\S  # ([^\"\n]*)$", text, re.M)


def _configs(file: Path) -> Iterator[str]:
    """Descriptions and comments of a file that users read and copy."""
    text = file.read_text("utf-8")
    yield from _leaves(yaml.safe_load(text))
    yield from (re.sub(r"^\s*# ?", "", lines, flags=re.M) for lines in re.findall(r"(?:^ *#.*\n)+", text, re.M))


def _screen(file: Path) -> Iterator[str]:
    """Texts of a page that is not translated."""
    code = re.sub(r"\{[^{}]*\}", "`x`", re.sub(r"/\*.*?\*/|//.*", "", file.read_text("utf-8"), flags=re.S))
    for quoted, template, between in re.findall(r'"([^"\n]+)"|`([^`\n]+)`|>\s*([A-Z“][^<>{};=]*)<', code):
        yield quoted or template or between


def _leaves(node: object) -> Iterator[str]:
    if isinstance(node, str):
        yield from re.split(r"\n\s*\n", node)
    elif isinstance(node, (dict, list)):
        for value in node.values() if isinstance(node, dict) else node:
            yield from _leaves(value)


@cache
def prose() -> list[str]:
    return _prose(texts())


@cache
def of_code() -> list[str]:
    """Docstrings and comments, for maintainers: patterns check them, and Harper, which takes its time, does not."""
    packages = (REPOSITORY / "parlai_humaneval", REPOSITORY / "mephisto_tasks")
    files = [file for package in packages for file in package.rglob("*.py")]
    return _prose(text for file in files for found in (_docstrings(file), _comments(file)) for text in found)


def _prose(found: Iterable[str]) -> list[str]:
    paragraphs = {" ".join(text.split()) for text in found}
    words = re.compile(r"(?:.*?[A-Za-z]{2,}[ ,]){3}")
    return sorted(text for text in paragraphs if words.match(text) and not NO_PROSE.search(text))


def _finding(rule: str, text: str, start: int, end: int) -> str:
    """With the words around it, so that it stays the same when a text moves."""
    before, after = (
        text[max(0, start - CONTEXT) : start].rpartition("\n")[2],
        text[end : end + CONTEXT].partition("\n")[0],
    )
    return f"{rule}: {before}[{text[start:end]}]{after}"


def breaches() -> set[str]:
    """Of the rules of :data:`RULES`."""
    found = (
        (rule, text, match)
        for text in (*prose(), *of_code())
        for rule, pattern in RULES.items()
        for match in re.finditer(pattern, text)
    )
    return {_finding(rule, text, *match.span()) for rule, text, match in found}


def faults() -> set[str]:
    """Of grammar, by Harper, half of the texts in each of two threads."""
    from harper import Linter

    def of(paragraphs: list[str]) -> Iterator[str]:
        linter = Linter()
        groups = {
            one["Group"]["label"]: str(one) for one in linter.get_structured_lint_config()["settings"] if "Group" in one
        }
        chosen = {*MORE, *(name for group in GROUPS for name in re.findall(r"'name': '(\w+)'", groups[group]))}
        linter.set_lint_config({name: name in chosen.difference(NOISE) for name in linter.get_lint_config()})
        for at in range(0, len(paragraphs), AT_ONCE):
            text = "\n\n".join(paragraphs[at : at + AT_ONCE])
            for rule, lints in linter.organized_lints(text).items():
                spans = (lint.span for lint in lints if lint.problem_text != "A")  # the name of a model
                whole = (span for span in spans if text[span.start - 1] != "_")  # not a part of a name like model_a
                yield from (_finding(rule, text, span.start, span.end) for span in whole)

    with ThreadPoolExecutor(2) as threads:
        return {one for some in threads.map(lambda half: list(of(prose()[half::2])), range(2)) for one in some}


def accepted() -> set[str]:
    return {line for line in ACCEPTED.read_text("utf-8").splitlines() if line and not line.startswith("#")}


def main() -> int:
    found = breaches() | faults()
    for finding in sorted(found - accepted()):
        print(f"English: {finding}")
    for line in sorted(accepted() - found):
        print(f"English: this is no longer found, so remove it from {ACCEPTED.name}: {line}")
    return int(found != accepted())


if __name__ == "__main__":
    sys.exit(main())
