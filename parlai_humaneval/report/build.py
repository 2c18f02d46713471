"""Tables → document."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd

from parlai_humaneval._util.arrays import Objects
from parlai_humaneval._util.text import json_list
from parlai_humaneval.report.document import Bubble, Document, Example, ExampleTurn, Mark, TaskFacts, with_labels
from parlai_humaneval.report.facts import HUMAN, designs_of, facts_of, models_in
from parlai_humaneval.report.registry import sections
from parlai_humaneval.report.section import Options
from parlai_humaneval.report.summary import with_what_leads
from parlai_humaneval.statistics.core.formatting import counted, listed
from parlai_humaneval.statistics.judges.answers import people_and_judge
from parlai_humaneval.tables.build import Tables
from parlai_humaneval.tables.columns import Repeats, TableError
from parlai_humaneval.tables.files import read_tables
from parlai_humaneval.tables.filters import finished, is_set
from parlai_humaneval.tables.schema import LABELS, TableName
from parlai_humaneval.techniques.registry import techniques

EXAMPLES = 3
"""As many are shown, of different designs where there are several."""
TURNS = 8
"""As many turns, or exchanges, of each."""
PERSON = "Human Speaker"
_SHOWN = ["turn", "position", "model", "text", "human_text", "written_text", "reason", "ticks"]
_SHOWN += ["failed", "selected", "continued", "continued_each"]


def examples_of(tables: Tables, *, seed: int, count: int = EXAMPLES) -> list[Example]:
    """Complete dialogues with their texts, drawn at random by ``seed``; none where the tables hold no texts.

    Each technique, setting and metric comes once before one comes twice.
    """
    turns, judgements = tables.turns, tables.judgements
    # Replays show the dialogue of another rater.
    first_hand = (turns["text"].notna() & turns["own_worker"].isna()).to_numpy(dtype=bool)
    live = turns[first_hand & finished(turns) & is_set(turns, "complete", missing=1)]
    done = (judgements["status"].eq("complete") & judgements["shown"].notna()).to_numpy(dtype=bool)
    judged = judgements[done & ~is_set(judgements, "gold")]
    rng = np.random.default_rng(seed)
    drawn: list[tuple[Callable[[Tables, str], Example], Objects]]
    drawn = [(_live, rng.permutation(ids)) for ids in _ids(live, "dialogue_id")]
    drawn += [(_judged, rng.permutation(ids)) for ids in _ids(judged, "judgement_id")]
    chosen = [(show, str(ids[place])) for place in range(count) for show, ids in drawn if place < len(ids)]
    return [show(tables, which) for show, which in chosen[:count]]


def _ids(rows: pd.DataFrame, column: str) -> Iterator[list[str]]:
    keys = rows[["technique", "setting", "metric"]].fillna("")
    for _, own in rows.groupby([keys["technique"], keys["setting"], keys["metric"]], sort=True):
        yield sorted(map(str, own[column].unique()))


def _live(tables: Tables, dialogue_id: str) -> Example:
    def own(table: pd.DataFrame) -> pd.DataFrame:
        rows: pd.DataFrame = table[table["dialogue_id"].eq(dialogue_id)]
        return rows[rows["own_worker"].isna()] if "own_worker" in rows else rows

    rows = own(tables.turns)
    turns = [turn.to_dict("records") for _, turn in rows[_SHOWN].groupby("turn", sort=True)]
    about, answer = [], ""
    for _, dialogue in own(tables.dialogues).head(1).iterrows():
        known = {"Topic": _cell(dialogue, "topic"), "Verdict": _cell(dialogue, "verdict")}
        known["Persona of the person"] = " ".join(map(str, json_list(_cell(dialogue, "persona"))))
        told = {label: f"{label}: {text}" for label, text in known.items() if text}
        answer = told.pop("Verdict", "")
        about = list(told.values())
    given = [f"{rating.criterion}: {rating.value:g}" for rating in own(tables.ratings).itertuples()]
    return Example(
        title=_title(rows.iloc[0]),
        dialogue_id=dialogue_id,
        worker_id=str(rows.iloc[0]["worker_id"]),
        about=about,
        turns=list(map(_live_turn, turns[:TURNS])),
        answer=f"Ratings at the end: {', '.join(given)}" if given else answer,
        left_out=max(0, len(turns) - TURNS),
    )


def _live_turn(rows: Sequence[Mapping[Any, Any]]) -> ExampleTurn:
    first = rows[0]
    said, written, reason = (_cell(first, name) for name in ("human_text", "written_text", "reason"))
    bubbles = [Bubble(who=PERSON, side="person", text=said)] if said else []
    for row in sorted(rows, key=lambda row: np.inf if pd.isna(row["position"]) else row["position"]):
        text = _cell(row, "text")
        if text or _flag(row, "failed"):
            ticks = _cell(row, "ticks").replace(";", ", ")
            went_on = _flag(row, "continued") and not _flag(row, "continued_each")
            mark: Mark = "chosen" if _flag(row, "selected") else "continued" if went_on else ""
            mark = "" if len(rows) == 1 else "failed" if _flag(row, "failed") else mark
            note = f"ticked: {ticks}" if ticks else ""
            bubbles.append(Bubble(who=str(row["model"]), side="model", text=text, mark=mark, note=note))
    if written:
        bubbles.append(Bubble(who="Written by the rater", side="model", text=written, mark="written"))
    return ExampleTurn(bubbles=bubbles, remark=f"Reason: “{reason}”" if reason else "")


def _judged(tables: Tables, judgement_id: str) -> Example:
    row = tables.judgements[tables.judgements["judgement_id"].eq(judgement_id)].iloc[0]
    turns: list[ExampleTurn] = []
    left_out = 0
    shown = [one for one in json_list(_cell(row, "shown")) if isinstance(one, dict)]
    for number, dialogue in enumerate(shown, start=1):
        lines = [line for line in dialogue.get("lines", []) if isinstance(line, dict)]
        names = [str(name) for name in dialogue.get("entities", [])]
        left_out += max(0, (len(lines) - 2 * TURNS + 1) // 2)
        which = f"Dialogue {number}: {' and '.join(dict.fromkeys(names))}" if len(shown) > 1 else ""
        bubbles: list[Bubble] = []
        for line in lines[: 2 * TURNS]:
            given = line.get("speaker")
            speaker = given if isinstance(given, int) else 0
            who = names[speaker] if 0 <= speaker < len(names) else f"Speaker {speaker + 1}"
            who, side = PERSON if who == HUMAN else who, "person" if speaker == 0 else "model"
            bubbles.append(Bubble(who=who, side=side, text=str(line.get("text", ""))))
        turns.append(ExampleTurn(bubbles=bubbles, remark=which))
    return Example(
        title=_title(row),
        dialogue_id=str(row["dialogues"]),
        worker_id=str(row["worker_id"]),
        turns=turns,
        answer="; ".join(filter(None, (*_answers(row, shown), _cell(row, "reason")))),
        left_out=left_out,
    )


def _answers(row: pd.Series[Any], shown: Sequence[dict[str, Any]]) -> Iterator[str]:
    """“preference: dialogue 2”, “taken for (alpha): bot”, in the words of the record."""
    names = [str(name) for name in shown[0].get("entities", [])] if shown else []
    for answer in json_list(_cell(row, "answers")):
        if not isinstance(answer, dict):
            continue
        option, question = str(answer.get("option") or ""), str(answer.get("question_id", ""))
        if option in LABELS and question.startswith("label_"):
            place = int(question[-1]) if question[-1:].isdigit() else 0
            question = f"taken for ({names[place] if place < len(names) else question})"
        if option:
            yield f"{question}: {option}"
        ratings = answer.get("ratings")
        yield from (f"{name}: {value}" for name, value in ratings.items()) if isinstance(ratings, dict) else ()


def _title(row: pd.Series[Any]) -> str:
    return ", ".join(filter(None, (_cell(row, name) for name in ("technique", "setting", "metric"))))


def _cell(row: Mapping[Any, Any] | pd.Series[Any], name: str) -> str:
    value = row[name]
    return "" if pd.isna(value) else str(value)


def _flag(row: Mapping[Any, Any], name: str) -> bool:
    value = row[name]
    return not pd.isna(value) and int(value) == 1


NAMED = 4
"""With more models, only their number is named."""


def build_report(
    tables: Tables,
    options: Options | None = None,
    *,
    title: str = "",
    task: TaskFacts | None = None,
    notes: tuple[str, ...] = (),
    now: datetime | None = None,
) -> Document:
    """Build the report on ``tables``, of one technique or several.

    ``options``: seed and number of bootstrap draws. ``title``: names the study; empty: what the tables hold. ``task``:
    what the database of tasks knows of the same answers, if they come from there. ``notes``: what a reader must know of
    how the document was made. ``now``: its date; None: the present. Raises TableError: a table cannot be used, or there
    is no such judge; the message says why.

    >>> from parlai_humaneval.tables.example import example_tables
    >>> document = build_report(example_tables(), title="Our study")
    >>> document.facts.title, list(document.sections)[:2]
    ('Our study', ['turns', 'comparisons'])
    """
    chosen = options or Options()
    if chosen.judge:
        tables, judged = people_and_judge(tables, chosen.judge)
        chosen = replace(chosen, judged=judged)
    found = with_labels(with_what_leads(sections(tables, chosen)))
    facts = facts_of(tables, chosen, title=title or default_title(tables), task=task, notes=notes, now=now)
    return Document(
        facts=facts.model_copy(
            update={"left_out": [left for section in found.values() if (left := section.left_out())]}
        ),
        sections=found,
        examples=examples_of(tables, seed=chosen.seed),
    )


def tables_of(folder: Path, repeats: Repeats | None = None) -> Tables:
    """Read the tidy tables of a folder; ``repeats``: which answers count if a worker answered again. Raises TableError:
    no table, a table that cannot be read, or no row in any of them."""
    found = read_tables(folder, repeats=repeats)
    if not any(len(getattr(found, name)) for name in get_args(TableName)):
        raise TableError(f"The tables in {folder} have no rows: there is nothing to report")
    return found


def default_title(tables: Tables) -> str:
    """“alpha and beta, rated with SATA”; the technique only where the tables say it; the degraded model is not evaluated."""
    degraded = set(map(str, tables.ratings.loc[is_set(tables.ratings, "degraded"), "model"].dropna().unique()))
    models = sorted(models_in(tables) - degraded)
    known = techniques()
    names = sorted({design.technique for design in designs_of(tables)} - {""})
    titles = [known[name].title if name in known else name for name in names]
    if not models:
        who = "Rated dialogues"
    elif len(models) > NAMED:
        who = counted(len(models), "model")
    else:
        who = listed(models)
    return f"{who}, rated with {' and '.join(titles)}" if titles else who
