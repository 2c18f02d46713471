"""A few dialogues as they were shown and rated, so that a reader knows what the numbers are about."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from parlai_humaneval.report.document import Bubble, Example, ExampleTurn, Mark
from parlai_humaneval.report.facts import HUMAN
from parlai_humaneval.tables.build import Tables
from parlai_humaneval.tables.filters import finished, is_set
from parlai_humaneval.tables.schema import LABELS

EXAMPLES = 3
"""As many are shown, of different designs where there are several."""
TURNS = 8
"""As many turns, or exchanges, of each."""
PERSON = "Human Speaker"


def examples_of(tables: Tables, *, seed: int, count: int = EXAMPLES) -> list[Example]:
    """Complete dialogues with their texts, drawn at random by ``seed``; none where the tables hold no texts.

    Each technique, setting and metric comes once before one comes twice.
    """
    rng = np.random.default_rng(seed)
    found: list[Example] = []
    live, judged = _live_ids(tables.turns), _judged_ids(tables.judgements)
    designs = [("live", rng.permutation(ids)) for ids in live] + [("judged", rng.permutation(ids)) for ids in judged]
    for place in range(count):
        for kind, ids in designs:
            if place < len(ids) and len(found) < count:
                found.append(_live(tables, str(ids[place])) if kind == "live" else _judged(tables, str(ids[place])))
    return found


def _live_ids(turns: pd.DataFrame) -> Iterator[list[str]]:
    """Ids of each design, of complete dialogues whose replies are known; replays show the dialogue of another rater."""
    known = turns["text"].notna() & turns["own_worker"].isna()
    rows = turns[known.to_numpy(dtype=bool) & finished(turns) & is_set(turns, "complete", missing=1)]
    yield from _ids(rows, "dialogue_id")


def _judged_ids(judgements: pd.DataFrame) -> Iterator[list[str]]:
    done = judgements["status"].eq("complete") & judgements["shown"].notna()
    yield from _ids(judgements[done.to_numpy(dtype=bool) & ~is_set(judgements, "gold")], "judgement_id")


def _ids(rows: pd.DataFrame, column: str) -> Iterator[list[str]]:
    keys = rows[["technique", "setting", "metric"]].fillna("")
    for _, own in rows.groupby([keys["technique"], keys["setting"], keys["metric"]], sort=True):
        yield sorted(map(str, own[column].unique()))


def _live(tables: Tables, dialogue_id: str) -> Example:
    rows = tables.turns[tables.turns["dialogue_id"].eq(dialogue_id) & tables.turns["own_worker"].isna()]
    first = rows.iloc[0]
    turns = [_live_turn(own) for _, own in rows.groupby("turn", sort=True)]
    own = tables.dialogues[tables.dialogues["dialogue_id"].eq(dialogue_id)]
    verdict = _cell(own.iloc[0], "verdict") if len(own) else ""
    return Example(
        title=_title(first),
        dialogue_id=dialogue_id,
        worker_id=str(first["worker_id"]),
        about=_about(own.iloc[0]) if len(own) else [],
        turns=turns[:TURNS],
        answer=_ratings(tables.ratings, dialogue_id) or (f"Verdict: {verdict}" if verdict else ""),
        left_out=max(0, len(turns) - TURNS),
    )


def _live_turn(rows: pd.DataFrame) -> ExampleTurn:
    first = rows.iloc[0]
    said = _cell(first, "human_text")
    bubbles = [Bubble(who=PERSON, side="person", text=said)] if said else []
    several = len(rows) > 1
    for _, row in rows.sort_values("position").iterrows():
        text = _cell(row, "text")
        if text or _flag(row, "failed"):
            ticks = _cell(row, "ticks").replace(";", ", ")
            note = f"ticked: {ticks}" if ticks else ""
            mark = _mark(row) if several else ""
            bubbles.append(Bubble(who=str(row["model"]), side="model", text=text, mark=mark, note=note))
    written = _cell(first, "written_text")
    if written:
        bubbles.append(Bubble(who="Written by the rater", side="model", text=written, mark="written"))
    reason = _cell(first, "reason")
    return ExampleTurn(bubbles=bubbles, remark=f"Reason: “{reason}”" if reason else "")


def _mark(row: pd.Series[Any]) -> Mark:
    if _flag(row, "failed"):
        return "failed"
    if _flag(row, "selected"):
        return "chosen"
    return "continued" if _flag(row, "continued") and not _flag(row, "continued_each") else ""


def _judged(tables: Tables, judgement_id: str) -> Example:
    row = tables.judgements[tables.judgements["judgement_id"].eq(judgement_id)].iloc[0]
    turns: list[ExampleTurn] = []
    left_out = 0
    shown = _json(row, "shown")
    for number, dialogue in enumerate(shown, start=1):
        lines = [line for line in dialogue.get("lines", []) if isinstance(line, dict)]
        names = [str(name) for name in dialogue.get("entities", [])]
        bubbles = [_line(line, names) for line in lines[: 2 * TURNS]]
        left_out += max(0, (len(lines) - 2 * TURNS + 1) // 2)
        which = f"Dialogue {number}: {' and '.join(dict.fromkeys(names))}" if len(shown) > 1 else ""
        turns.append(ExampleTurn(bubbles=bubbles, remark=which))
    return Example(
        title=_title(row),
        dialogue_id=str(row["dialogues"]),
        worker_id=str(row["worker_id"]),
        turns=turns,
        answer="; ".join(filter(None, (_answers(row, shown), _cell(row, "reason")))),
        left_out=left_out,
    )


def _line(line: dict[str, Any], names: Sequence[str]) -> Bubble:
    given = line.get("speaker")
    speaker = given if isinstance(given, int) else 0
    who = names[speaker] if 0 <= speaker < len(names) else f"Speaker {speaker + 1}"
    side = "person" if speaker == 0 else "model"
    return Bubble(who=PERSON if who == HUMAN else who, side=side, text=str(line.get("text", "")))


def _answers(row: pd.Series[Any], shown: Sequence[dict[str, Any]]) -> str:
    """“preference: dialogue 2; label of alpha: bot”, in the words of the record."""
    names = [str(name) for name in shown[0].get("entities", [])] if shown else []
    words = []
    for answer in _json(row, "answers"):
        option, question = str(answer.get("option") or ""), str(answer.get("question_id", ""))
        if option in LABELS and question.startswith("label_"):
            place = int(question[-1]) if question[-1:].isdigit() else 0
            question = f"taken for ({names[place] if place < len(names) else question})"
        if option:
            words.append(f"{question}: {option}")
        ratings = answer.get("ratings")
        words += [f"{name}: {value}" for name, value in ratings.items()] if isinstance(ratings, dict) else []
    return "; ".join(words)


def _ratings(ratings: pd.DataFrame, dialogue_id: str) -> str:
    rows = ratings[ratings["dialogue_id"].eq(dialogue_id) & ratings["own_worker"].isna()]
    given = [f"{row.criterion}: {row.value:g}" for row in rows.itertuples()]
    return f"Ratings at the end: {', '.join(given)}" if given else ""


def _about(row: pd.Series[Any]) -> list[str]:
    persona = [str(sentence) for sentence in _json(row, "persona", dict_only=False)]
    topic = _cell(row, "topic")
    return ([f"Topic: {topic}"] if topic else []) + ([f"Persona of the person: {' '.join(persona)}"] if persona else [])


def _title(row: pd.Series[Any]) -> str:
    return ", ".join(filter(None, (_cell(row, "technique"), _cell(row, "setting"), _cell(row, "metric"))))


def _cell(row: pd.Series[Any], name: str) -> str:
    value = row[name]
    return "" if pd.isna(value) else str(value)


def _flag(row: pd.Series[Any], name: str) -> bool:
    value = row[name]
    return not pd.isna(value) and int(value) == 1


def _json(row: pd.Series[Any], name: str, *, dict_only: bool = True) -> list[Any]:
    """A JSON list of the cell; empty where it holds none."""
    try:
        value = json.loads(_cell(row, name) or "[]")
    except ValueError:
        return []
    return [one for one in value if not dict_only or isinstance(one, dict)] if isinstance(value, list) else []
