"""Help, settings and messages keep the first, third and fifth rule of the page on writing, as far as a pattern can tell."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml
from pages import REPOSITORY

RULES = {
    "a clause has a noun for its subject": r"(?:^|[.;:] )[Ww]ho(?:ever)? (?!are you|may take|says the|came when)|"
    r"\b(?:for|of|by|with|to|let) who\b(?! may take part)",
    "help is an imperative, or a complete noun phrase": r"^(?:Of|So many|By|As of|The same of|How is) ",
    "plain words": r"\b(?:anew(?!\))|beside|thereof|one's own|of yours|be had|be told|is told|are told)\b|"
    r"\bas ever\b|\bever after\b|\bgoes? by (?!hand)|\bstands? (?:in|at|before|for|where|alone|twice)\b",
}
FOLDERS = (
    "cli",
    "config",
    "chat",
    "annotation",
    "launch",
    "control",
    "monitoring",
    "payments",
    "crowds",
    "workers",
    "privacy",
)


def _help(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        for value in node.values():
            yield from _help(value)
    elif isinstance(node, list):
        for value in node:
            yield from _help(value)
    elif isinstance(node, str):
        yield from re.split(r"\n\s*\n", node)


def _texts(file: Path) -> Iterator[str]:
    """Strings of a module that people read: no docstrings, but those of settings."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    docs, settings = set(), file.name in ("config.py", "settings.py", "task.py", "stopping.py", "worker_rules.py")
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for before, each in zip([None, *body], body, strict=False) if isinstance(body, list) else ():
            if isinstance(each, ast.Expr) and not (settings and isinstance(before, ast.AnnAssign)):
                docs.add(id(each.value))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("phrase", "t"):
            docs |= {id(argument) for argument in node.args}  # the page's texts, which its catalogue has
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in docs
            and " " in node.value
        ):
            yield node.value


@cache
def sentences() -> frozenset[str]:
    return frozenset(" ".join(text.split()) for text in _all_texts())


def _all_texts() -> Iterator[str]:
    for package in ("parlai_humaneval", "mephisto_tasks"):
        root = REPOSITORY / package
        yield from _help(yaml.safe_load((root / "cli" / "commands.yaml").read_text(encoding="utf-8")))
        for folder in FOLDERS:
            for file in sorted((root / folder).rglob("*.py")):
                yield from _texts(file)


@pytest.mark.parametrize("rule", RULES)
def test_no_sentence_breaks_a_rule_that_a_pattern_can_find(rule: str) -> None:
    """Guards the words of users against those that a native reader stumbles over."""
    texts = sentences()
    assert len(texts) > 1000
    assert {text for text in texts if re.search(RULES[rule], text)} == set()
