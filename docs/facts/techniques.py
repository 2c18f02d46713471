"""What the entries of the techniques say: source, questions, checks, tables, confs."""

from __future__ import annotations

from docs.facts.markdown import code, table
from mephisto_tasks.launch.config import conf_names
from parlai_humaneval.quality.registry import CHECKS, default_checks
from parlai_humaneval.techniques.registry import Technique, techniques

NOT_OF_PAPERS = ("local", "mturk", "mturk_sandbox")
"""Confs that every technique has."""


def facts() -> dict[str, str]:
    """A card of each technique, and the table of all checks."""
    return {f"technique/{name}.md": _card(entry) for name, entry in techniques().items()} | {"checks.md": _checks()}


def _card(entry: Technique) -> str:
    confs = [name for name in conf_names(entry.name) if name not in NOT_OF_PAPERS]
    rows = [
        ["in the papers", entry.title],
        ["source", entry.source],
        ["tables with its answers", _listed(entry.tables)],
        ["checks on raters", _listed(default_checks(entry.name))],
        *([["papers' config files", _listed(confs)]] if confs else []),
        *(_question(metric, "", words) for metric, words in entry.questions.items()),
        *(
            _question(metric, setting, words)
            for setting, questions in entry.questions_of.items()
            for metric, words in questions.items()
        ),
    ]
    return table(["", f"`{entry.name}`"], rows)


def _question(metric: str, setting: str, words: str) -> list[str]:
    return [f"question for `metric={metric}`" + (f", `setting={setting}`" if setting else ""), f"“{words}”"]


def _listed(names: tuple[str, ...] | list[str]) -> str:
    return ", ".join(code(name) for name in names)


def _checks() -> str:
    rows = [[code(check.name), check.description, check.source] for check in CHECKS.values()]
    return table(["check", "when raters fail", "source"], rows)
