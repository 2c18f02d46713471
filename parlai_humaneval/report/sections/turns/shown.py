"""The tables of the section on turns."""

from __future__ import annotations

from collections.abc import Sequence

from parlai_humaneval.report.rows import cut, cut_notes
from parlai_humaneval.report.section import Part
from parlai_humaneval.report.sections.turns.types import TestRow, TurnsSection
from parlai_humaneval.report.views import Cell, CellKind, DataTable, TableColumn

_GROUP: tuple[tuple[str, str, CellKind], ...] = (
    ("technique", "Technique", "text"),
    ("setting", "Setting", "text"),
    ("metric", "Metric", "text"),
    ("group", "Side by side", "text"),
)
_RATE: tuple[tuple[str, str, CellKind], ...] = (
    ("n", "Turns", "count"),
    ("selected", "Chosen", "count"),
    ("win_rate", "Win rate", "share"),
    ("ci_low", "from", "share"),
    ("ci_high", "to", "share"),
)
_Columns = tuple[tuple[str, str, CellKind], ...]

_MODELS: _Columns = (
    ("model", "Model", "text"),
    ("n_dialogues", "Dialogues", "count"),
    *_RATE,
    ("boot_low", "Boot from", "share"),
    ("boot_high", "Boot to", "share"),
    ("wald_low", "Wald from", "share"),
    ("wald_high", "Wald to", "share"),
    ("wilson_low", "Wilson from", "share"),
    ("wilson_high", "Wilson to", "share"),
    ("win_rate_from_2", "Without first turns", "share"),
    ("n_workers", "Workers", "count"),
)
_DIALOGUES: _Columns = (
    ("model", "Model", "text"),
    ("dialogues_won", "Dialogues half good", "share"),
    ("dialogues_won_from_3", "the same, turns 3 on", "share"),
)
_TESTS: _Columns = (
    ("name", "Test", "text"),
    ("n", "Turns", "count"),
    ("statistic", "Statistic", "number"),
    ("p_value", "Paper's p", "p"),
    ("p_holm", "Paper's p, Holm", "p"),
    ("estimate", "Difference", "number"),
    ("ci_low", "from", "number"),
    ("ci_high", "to", "number"),
    ("p_clustered", "Clustered p", "p"),
    ("p_clustered_holm", "Clustered p, Holm", "p"),
    ("p_exact", "McNemar exact", "p"),
    ("p_mid", "McNemar mid-p", "p"),
    ("p_sign_flip", "Sign flip", "p"),
)
_PAIRS: _Columns = (
    ("model_a", "A", "text"),
    ("model_b", "B", "text"),
    ("first_turn", "From turn", "count"),
    ("n", "Turns", "count"),
    ("win_rate_a", "Win rate A", "share"),
    ("win_rate_b", "Win rate B", "share"),
    ("tie_win", "Tie-win", "share"),
    ("tie_loss", "Tie-loss", "share"),
    ("lin", "Lin of A", "share"),
    ("lin_low", "from", "share"),
    ("lin_high", "to", "share"),
    ("sqr", "Sqr of A", "share"),
    ("sqr_low", "from", "share"),
    ("sqr_high", "to", "share"),
    ("wta", "WTA of A", "share"),
    ("wta_low", "from", "share"),
    ("wta_high", "to", "share"),
)
_EFFECTIVE: _Columns = (
    ("score", "Score", "text"),
    ("model_a", "A", "text"),
    ("model_b", "B", "text"),
    ("first_turn", "From turn", "count"),
    ("n_a", "Dialogues A", "count"),
    ("n_b", "Dialogues B", "count"),
    ("win_rate", "Effective win rate of A", "share"),
    ("ci_low", "from", "share"),
    ("ci_high", "to", "share"),
    ("p_clustered", "Clustered p", "p"),
)
_STRENGTHS: _Columns = (
    ("model", "Model", "text"),
    ("strength", "Strength", "number"),
    ("ci_low", "from", "number"),
    ("ci_high", "to", "number"),
    ("p_clustered", "Clustered p", "p"),
    ("n", "Turns", "count"),
)
_PULLS: _Columns = (
    ("position", "Place", "text"),
    ("pull", "Pull", "number"),
    ("ci_low", "from", "number"),
    ("ci_high", "to", "number"),
    ("p_clustered", "Clustered p", "p"),
    ("p_no_effect", "No place differs, p", "p"),
)
_COMBOS: _Columns = (
    ("model_a", "A", "text"),
    ("model_b", "B", "text"),
    ("lin_turns_2_6", "Lin of A, turns 2–6", "share"),
    ("win_rate_dialog", "Dialogues won by A", "share"),
    ("combo", "PW combo of A", "share"),
    ("ci_low", "from", "share"),
    ("ci_high", "to", "share"),
    ("p_clustered", "Clustered p", "p"),
    ("n_turns", "Turns", "count"),
    ("n_dialogs", "Dialogues", "count"),
)
_RESELECTION: _Columns = (
    ("what", "Chosen", "text"),
    ("n", "Pairs of turns", "count"),
    ("both", "Twice running", "share"),
    ("expected", "in any order", "share"),
    ("independent", "if independent", "share"),
    ("again", "Again, if chosen before", "share"),
    ("second_rate", "At any rate", "share"),
    ("excess", "Above chance", "number"),
    ("excess_low", "from", "number"),
    ("excess_high", "to", "number"),
    ("p_clustered", "Clustered p", "p"),
)
_BIAS: _Columns = (
    ("name", "Question", "text"),
    ("n", "n", "count"),
    ("estimate", "Difference", "number"),
    ("ci_low", "from", "number"),
    ("ci_high", "to", "number"),
    ("statistic", "Statistic", "number"),
    ("p_value", "p", "p"),
    ("method", "Test", "text"),
)
_LEFT_OUT: _Columns = (
    ("left_out", "Without", "text"),
    ("n", "Turns", "count"),
    ("ranking", "Ranking of the others", "text"),
    ("order_changed", "Order changes", "text"),
    ("p_value", "Paper's p", "p"),
    ("p_clustered", "Clustered p", "p"),
    ("changed_pairs", "Pairs whose verdict changes", "text"),
)


def data_tables(section: TurnsSection) -> list[DataTable]:
    """All tables that hold a row, as in the papers: win rates, tests, pairs, turns, places, patterns."""
    patterns = section.patterns
    singles = [row for row in section.models if row.kind == "single"]
    by_turn: _Columns = (("turn", "Turn", "count"), ("model", "Model", "text"), *_RATE, ("lin", "Lin", "share"))
    by_place: _Columns = (("position", "Place", "count"), ("model", "Model", "text"), *_RATE, ("lin", "Lin", "share"))
    found = [
        _table("turns_models", "Win rates", _MODELS, section.models),
        _table("turns_tests", "Tests", _TESTS, section.tests, *_papers_tests(section.tests)),
        _table("turns_pairs", "Pairs: ties, Lin, Sqr and winner-takes-all", _PAIRS, section.pairs),
        _table("turns_single", "Single models: dialogues with at least half of the turns good", _DIALOGUES, singles),
        _table("turns_effective", "Single models: effective win rates", _EFFECTIVE, section.effective),
        _table("turns_by_turn", "Win rates by turn", by_turn, section.by_turn),
        _table("turns_by_position", "Win rates by place (anchoring)", by_place, section.by_position),
        _table("turns_reselection", "Chosen in two consecutive turns", _RESELECTION, patterns.reselection),
        _table("turns_cascading", "What was chosen first, in later turns", _BIAS, patterns.cascading),
        _table("turns_anchoring", "Tests of places", _BIAS, patterns.anchoring),
        _table(
            "turns_strengths", "Strengths (Plackett–Luce, log-odds against the mean)", _STRENGTHS, section.strengths
        ),
        _table("turns_pulls", "Pull of the place (log-odds against the mean)", _PULLS, section.positions),
        _table("turns_combos", "PW combo: turns and self-chats together", _COMBOS, section.combos),
        _table("turns_leave_one_out", "Without each model", _LEFT_OUT, section.leave_one_out),
    ]
    return [table for table in found if table.rows]


def _table(key: str, title: str, columns: _Columns, rows: Sequence[Part], *notes: str) -> DataTable:
    """Of ``columns`` those that some row fills; the setting likewise, and the group where a metric has several."""
    values = [row.model_dump(mode="json") for row in rows]
    groups = {(value["technique"], value["setting"], value["metric"], value["group"]) for value in values}
    if len(groups) == len({group[:3] for group in groups}):
        values = [{**value, "group": ""} for value in values]
    used = [name for name in (*_GROUP, *columns) if any(value[name[0]] not in (None, "") for value in values)]
    return DataTable(
        key=key,
        title=title,
        columns=tuple(TableColumn(key=name, label=label, kind=kind) for name, label, kind in used),
        rows=tuple({name: cut(_cell(value[name]), kind) for name, _, kind in used} for value in values),
        notes=(*notes, *cut_notes(values, tuple(used))),
    )


def _papers_tests(tests: Sequence[TestRow]) -> list[str]:
    """What the paper's p are, once for all rows: in each row they would make a tall column of the same words."""
    pairs = list(dict.fromkeys(test.method for test in tests if len(test.models) == 2 and test.method))
    others = [method for method in dict.fromkeys(test.method for test in tests if test.method) if method not in pairs]
    found = [(pairs, "of two models: "), (others, "of all models, or of one: ")]
    told = "; ".join(f"{which}{', '.join(methods)}" for methods, which in found if methods)
    return [f"Paper's p, {told}."] if told else []


def _cell(value: object) -> Cell:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(str(part) for part in value)
    return value if value is None or isinstance(value, (int, float, str)) else str(value)
