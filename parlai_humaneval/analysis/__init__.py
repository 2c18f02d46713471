"""The public face of tables, statistics, planning and reports; it needs no database, ParlAI or Mephisto.

``tables`` (records → tables) · ``read_tables``, ``write_tables`` (files) · ``build_report``, ``write_document`` (reports) ·
the estimates and tests that they are made of. Every test returns a :class:`Result`.

``__init__.pyi`` lists the public names and their modules; a package of your own adds names with
:func:`register_statistic`. They are loaded on use: nobody waits for libraries that they do not need.
"""

import ast
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

from parlai_humaneval._util.plugins import load_plugins

_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
_MODULES = {
    alias.name: node.module
    for node in _STUB.body
    if isinstance(node, ast.ImportFrom) and node.module
    for alias in node.names
}
_RENAMED = {
    "ChoiceGroup": "ComparisonGroup",
    "answers_in_time": "timed_answers",
    "combo": "pw_combo_score",
    "conservative": "conservative_skill",
    "ffa_points": "free_for_all_points",
    "ffa_ranks": "free_for_all_ranks",
    "judged_segments": "spot_the_bot_segments",
    "label_winner": "win_by_label",
    "left_open": "idle_answers",
    "lin": "linear_win_rate",
    "make_document": "build_report",
    "oriented": "orient_pairs",
    "print_summary": "print_report_summary",
    "sm_combo": "sm_combo_score",
    "sqr": "squared_win_rate",
    "turned": "reverse_scored",
    "weigh_turns": "turn_weights",
    "with_holm": "holm_corrected",
    "wta": "winner_takes_all",
}
"""Old name → today's. The old ones still work, and warn; they go with version 1.0."""
_REMOVED = {
    "count_dialogues": "choice_groups, which has the counts of each dialogue",
    "pooled_turn_strengths": "turn_strengths of each group",
    "results_table": "pandas.DataFrame([result.to_dict() for result in results])",
    "spent_by_unit": "time_spent, which has whole results",
    "success_rate": "wilson_interval or wald_interval",
}
"""Name that is gone → what takes its place."""
__all__ = sorted({*_MODULES, "register_statistic"})


def register_statistic(name: str, module: str) -> None:
    """Add a statistic of your own: the attribute ``name`` of ``module`` (its full name) becomes public here.

    Raises:
        ValueError: the name is taken.
    """
    if _MODULES.setdefault(name, module) != module:
        raise ValueError(f"there is a public name {name!r} already: choose another one for the statistic")


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        sentence = f"{__name__}.{name} is now {_RENAMED[name]}; its old name goes with version 1.0"
        warnings.warn(sentence, DeprecationWarning, stacklevel=2)
        name = _RENAMED[name]
    if name not in _MODULES and not name.startswith("_"):
        load_plugins()
    if name not in _MODULES:
        instead = f"; use {_REMOVED[name]}" if name in _REMOVED else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{instead}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    load_plugins()
    return sorted({*_MODULES, "register_statistic"})
