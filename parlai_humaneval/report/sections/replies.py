"""Section ``replies``: how the models served, what was done to their replies, and whether raters could know them.

None of the papers reports it. A technique is blind only while nothing on the page says which model speaks: Ji et al.
2022 (§3) and Liu et al. 2023 (“Evaluation Mechanisms”) rely on that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
import pandas as pd

from parlai_humaneval.display.thoughts import ONLY_THOUGHTS
from parlai_humaneval.report.rows import Columns, part_table
from parlai_humaneval.report.section import Options, Part, Section
from parlai_humaneval.report.views import DataTable, Figure, Method, method
from parlai_humaneval.statistics.core.formatting import counted, money_words, seconds_words
from parlai_humaneval.tables.build import Tables

TELLING_GAP_S = 2.0
"""Seconds between two models' median latencies that people notice."""

_SHOWN: Columns = (
    ("model", "Model", "text"),
    ("n", "Replies", "count"),
    ("n_shown", "Shown", "count"),
    ("n_failed", "Blank", "count"),
    ("n_blocked", "Refused", "count"),
    ("n_asked_again", "Asked again", "count"),
    ("n_masked", "Words hidden", "count"),
    ("n_changed", "Looks changed", "count"),
    ("n_told", "Give-aways shown", "count"),
    ("n_named", "Dialogues where raters named a model", "count"),
)
_SERVED: Columns = (
    ("model", "Model", "text"),
    ("latency_median", "Median s", "seconds"),
    ("latency_p95", "95 % s", "seconds"),
    ("n_cut", "Cut off by its length limit", "count"),
    ("n_shortened", "Without the oldest turns", "count"),
    ("prompt_tokens", "Tokens read", "count"),
    ("completion_tokens", "Tokens written", "count"),
    ("cost", "Cost", "money"),
    ("currency", "Currency", "text"),
    ("cost_per_dialogue", "A dialogue", "money"),
)
MOST_LISTED = 20
"""Dialogues that are named in the JSON, of those in which something gave a model away."""
NAMED = 5
"""Of them, those that a sentence names."""


class ModelReplies(Part):
    """What one model was asked for and gave.

    Attributes:
        n: replies asked for; ``n_shown`` of them could be rated.
        n_failed: only blanks, or thoughts, which are ``n_thinking``; ``n_blocked``: refused by the response filter.
        n_asked_again: for which the model was asked more than once, because its first words gave it away or were refused.
        n_masked: shown with something hidden (a name, talk of being a program, an offensive word).
        n_changed: shown with other changes, by kind in ``changes``.
        n_told: shown with something in it that gives a model away, ``told_dialogues`` the first of those dialogues.
        n_named: dialogues of this model in which the rater's own words name a model or a maker.
        latency_median, latency_p95: seconds the model took.
        n_shortened: for which the model did not read the oldest turns, ``most_left_out`` of them at most.
        served_models: names by which servers call it. More than one: it changed during the study.
        cost: of all its replies, in ``currency``; None where nothing is known.
    """

    model: str
    n: int
    n_dialogues: int
    n_shown: int
    n_failed: int
    n_thinking: int
    n_blocked: int
    n_asked_again: int
    n_masked: int
    n_changed: int
    changes: dict[str, int]
    n_told: int
    told_dialogues: list[str]
    n_named: int
    latency_median: float | None
    latency_p95: float | None
    n_cut: int
    n_shortened: int
    most_left_out: int
    served_models: list[str]
    prompt_tokens: int | None
    completion_tokens: int | None
    cost: float | None
    currency: str | None
    cost_per_dialogue: float | None


class Replies(Section):
    """Per model: replies shown, hidden and changed, give-aways, latency, tokens and money."""

    TITLE: ClassVar[str] = "Replies, and whether raters could tell whose they were"

    models: list[ModelReplies]

    def in_short(self) -> list[str]:
        """For the summary: who was given away, what else there is to know, and costs. Empty: there is nothing to tell."""
        told = any(one.n_told for one in self.models)
        return [*([self.headline] if told else self.remarks), *_in_short(self.models)]

    def data_tables(self) -> list[DataTable]:
        # What raters saw, and what the models took; the second only where something of it is known.
        tables = [part_table("replies_shown", "What did raters see of the models?", _SHOWN, self.models)]
        known = [one for one in self.models if one.latency_median is not None or one.completion_tokens is not None]
        if known:
            tables.append(part_table("replies_served", "What did the models take?", _SERVED, known))
        return tables

    def figures(self) -> list[Figure]:
        return []

    def methods(self) -> list[Method]:
        return [
            method("replies", "give_aways"),
            method("replies", "tokens_and_cost"),
        ]


def build(tables: Tables, options: Options) -> Replies | None:
    """None where no reply has a text."""
    turns = tables.turns
    live = turns[turns["text"].notna() | turns["raw_text"].notna() | turns["failed"].eq(1)]
    live = live[live["judgement_id"].isna()].drop_duplicates(["dialogue_id", "turn", "model", "position"])
    if live.empty or live["text"].isna().all():
        return None
    names = sorted(set(live["model"]))
    told = _told(live, names)
    named = _named(live, names)
    section = Replies(models=[_of_model(name, live[live["model"] == name], told, named) for name in names])
    section.headline = _headline(section.models)
    section.remarks = [*_remarks(section.models), *_unprotected(tables, live)]
    return section


def _unprotected(tables: Tables, rows: pd.DataFrame) -> list[str]:
    """A remark on the languages in which give-aways could neither be hidden nor be counted: of raters' pages, and by the
    letters of replies."""
    from parlai_humaneval.display.text import foreign_script
    from parlai_humaneval.display.vocabulary import packaged, unprotected

    tags = [str(tag) for tag in tables.dialogues["language"].dropna().unique()]
    scripts = (foreign_script(str(text)) for text in rows["text"].dropna().unique())
    remark = unprotected(tags, packaged(), [script for script in scripts if script is not None])
    return [] if remark is None else [remark]


def _told(rows: pd.DataFrame, names: Sequence[str]) -> pd.Series:
    from parlai_humaneval.display.masking import giveaways  # its patterns take long, and most tables hold no texts

    texts = rows["text"].fillna("")
    found = {text: bool(giveaways(text, names)) for text in texts.unique()}
    return texts.map(found).astype(bool)


def _named(rows: pd.DataFrame, names: Sequence[str]) -> set[str]:
    from parlai_humaneval.display.masking import giveaways

    found: set[str] = set()
    typed = rows["human_fixed"].ne(1) & rows["human_suggested"].ne(1)
    for column, own in (("human_text", typed.fillna(True)), ("reason", slice(None))):
        words = rows.loc[own, ["dialogue_id", column]].dropna().drop_duplicates()
        found |= {
            str(dialogue)
            for dialogue, text in words.itertuples(index=False)
            if any(mask.kind in ("name", "maker") for mask in giveaways(str(text), names))
        }
    return found


def _of_model(name: str, rows: pd.DataFrame, told: pd.Series, named: set[str]) -> ModelReplies:
    shown, thinking = rows["failed"].ne(1), rows["blocked"].eq(ONLY_THOUGHTS)
    given_away = rows[told.loc[rows.index] & shown]
    changes = rows.loc[shown, "changes"].dropna().str.split(";").explode().value_counts()
    latency = rows["latency_s"].dropna().to_numpy(dtype=float)
    dialogues = rows["dialogue_id"].nunique()
    cost, currency = _cost(rows)
    return ModelReplies(
        model=name,
        n=len(rows),
        n_dialogues=dialogues,
        n_shown=int(shown.sum()),
        n_failed=int((~shown & (thinking | rows["blocked"].isna())).sum()),
        n_thinking=int(thinking.sum()),
        n_blocked=int((rows["blocked"].notna() & ~thinking).sum()),
        n_asked_again=int(rows["withdrawn"].notna().sum()),
        n_masked=int((shown & rows["masked"].eq(1)).sum()),
        n_changed=int((shown & rows["changes"].notna()).sum()),
        changes={str(kind): int(count) for kind, count in sorted(changes.items())},
        n_told=len(given_away),
        told_dialogues=list(map(str, given_away["dialogue_id"].unique()[:MOST_LISTED])),
        n_named=len(named & set(map(str, rows["dialogue_id"]))),
        latency_median=float(np.median(latency)) if len(latency) else None,
        latency_p95=float(np.percentile(latency, 95)) if len(latency) else None,
        n_cut=int(rows["finish_reason"].eq("length").sum()),
        n_shortened=int(rows["turns_left_out"].gt(0).sum()),
        most_left_out=int(rows["turns_left_out"].fillna(0).max()),
        served_models=sorted(map(str, rows["served_model"].dropna().unique())),
        prompt_tokens=_total(rows["prompt_tokens"]),
        completion_tokens=_total(rows["completion_tokens"]),
        cost=cost,
        currency=currency,
        cost_per_dialogue=None if cost is None else cost / dialogues,
    )


def _total(column: pd.Series) -> int | None:
    return int(column.sum()) if column.notna().any() else None


def _cost(rows: pd.DataFrame) -> tuple[float | None, str | None]:
    """What all replies cost; several currencies have no sum."""
    priced = rows[rows["cost"].notna()]
    currencies = priced["currency"].fillna("").unique()
    if len(currencies) != 1:
        return None, None
    return float(priced["cost"].sum()), str(currencies[0]) or None


def _replies(count: int) -> str:
    return f"{count:,} {'reply' if count == 1 else 'replies'}"


def _headline(models: Sequence[ModelReplies]) -> str:
    replies, shown = sum(one.n for one in models), sum(one.n_shown for one in models)
    told = [one for one in models if one.n_told]
    start = f"{shown:,} of {_replies(replies)} could be shown"
    if not told:
        return f"{start}; none of them says which model wrote it."
    who = ", ".join(f"{one.model} in {one.n_told:,} of {one.n_shown:,}" for one in told)
    return f"{start}; raters were told who speaks, or could guess it, by {who}."


def _remarks(models: Sequence[ModelReplies]) -> list[str]:
    found = [remark for one in models for remark in _remarks_on(one)]
    timed = [(one.latency_median, one.model) for one in models if one.latency_median is not None]
    (fast, first), (slow, last) = (min(timed), max(timed)) if timed else ((0.0, ""), (0.0, ""))
    if slow - fast >= TELLING_GAP_S:
        found.append(
            f"{last} takes {seconds_words(slow)} for a reply, {first} {seconds_words(fast)} (medians): where one model "
            "speaks at a time, its speed gives it away unless replies were held back (setting `typing`)."
        )
    return found


def _remarks_on(one: ModelReplies) -> list[str]:
    found = []
    if one.n_told:
        dialogues = ", ".join(one.told_dialogues[:NAMED]) + (", …" if len(one.told_dialogues) > NAMED else "")
        found.append(
            f"{one.n_told:,} of {_replies(one.n_shown)} that {'was' if one.n_shown == 1 else 'were'} shown "
            f"{'gives' if one.n_told == 1 else 'give'} a model or its maker away "
            f"(dialogues {dialogues}). Its raters were not blind there; compare the results without them."
        )
    if one.n_named:
        found.append(
            f"in {counted(one.n_named, 'dialogue')} the rater's own words name a model or a maker; they may have guessed "
            "who speaks."
        )
    if one.n_asked_again:
        found.append(
            f"{one.n_asked_again:,} of {_replies(one.n)} came when it was asked again, because what it said first gave it "
            "away or was refused; raters judged the later words (column `withdrawn` of the turns has the first)."
        )
    if one.n_shortened:
        found.append(
            f"{one.n_shortened:,} of {_replies(one.n)} were written without the oldest turns of the dialogue (up to "
            f"{one.most_left_out:,}), which was longer than it may read (`history_limit`, or its own limit)."
        )
    if len(one.served_models) > 1:
        names = " and ".join(one.served_models)
        found.append(f"its server called it {names}: these may be different models under one name.")
    if one.n_blocked or one.n_failed:
        found.append(
            f"{one.n_failed + one.n_blocked:,} of {_replies(one.n)} were not shown ({one.n_failed:,} blank, "
            f"{one.n_blocked:,} refused by the filter); those turns were rated without it."
        )
    if one.n_thinking:
        found.append(f"in {counted(one.n_thinking, 'turn')} {ONLY_THOUGHTS}.")
    return [f"{one.model}: {remark}" for remark in found]


def _in_short(models: Sequence[ModelReplies]) -> list[str]:
    """What each model took, a line each: “my_server: 2,100 tokens read, 42 written, 0.00034 USD”; often nothing."""
    return [f"{one.model}: {', '.join(parts)}" for one in models if (parts := list(_taken(one)))]


def _taken(one: ModelReplies) -> Iterator[str]:
    if one.prompt_tokens is not None:
        yield f"{one.prompt_tokens:,} tokens read"
    if one.completion_tokens is not None:
        yield (
            f"{one.completion_tokens:,} written"
            if one.prompt_tokens is not None
            else f"{one.completion_tokens:,} tokens written"
        )
    if one.cost is not None:
        yield f"{money_words(one.cost)} {one.currency or ''}".rstrip()
