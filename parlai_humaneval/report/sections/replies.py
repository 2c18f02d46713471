"""Section ``replies``: the models' service, changes to their replies, and give-aways.

None of the papers reports it. A technique is blind only while nothing on the page says which model speaks: Ji et al.
2022 (§3) and Liu et al. 2023 (“Evaluation Mechanisms”) rely on that.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
import pandas as pd

from parlai_humaneval.display.text import ONLY_THOUGHTS
from parlai_humaneval.report.section import Options, Section, say, sentence
from parlai_humaneval.report.views import DataTable, Figure, Method, method, shown, table
from parlai_humaneval.statistics.core.rows import Column, Name, Row
from parlai_humaneval.tables.build import Tables

TELLING_GAP_S = 2.0
"""Seconds between two models' median latencies that people notice."""

SERVED = "replies_served"
"""A second table of models."""
MOST_LISTED = 20
"""Dialogues that are named in the JSON, of those in which something gave a model away."""
NAMED = 5
"""The most of them to name in a sentence."""


class ModelReplies(Row):
    """Replies of one model; of ``n`` replies, ``n_shown`` could be rated.

    ``n_failed``: only blanks, or thoughts, which are ``n_thinking``; ``n_blocked``: refused by the response filter;
    ``n_asked_again``: as its first words gave the model away or were refused. ``n_masked``: shown with something hidden,
    ``n_changed``: with other changes, by kind in ``changes``, ``n_told``: with what gives a model away, in
    ``told_dialogues`` and others. ``n_named``: dialogues in which the rater's own words name a model or a maker.
    ``n_shortened``: the model did not read the oldest turns, ``most_left_out`` at most. ``served_models``: more than one:
    it changed during the study. ``cost``: of all replies, in ``currency``; None where nothing is known.
    """

    model: Name
    n: Annotated[int, Column("Replies")]
    n_dialogues: int
    n_shown: Annotated[int, Column("Shown")]
    n_failed: Annotated[int, Column("Blank")]
    n_thinking: int
    n_blocked: Annotated[int, Column("Refused")]
    n_asked_again: Annotated[int, Column("Asked again")]
    n_masked: Annotated[int, Column("Words hidden")]
    n_changed: Annotated[int, Column("Looks changed")]
    changes: dict[str, int]
    n_told: Annotated[int, Column("Give-aways shown")]
    told_dialogues: list[str]
    n_named: Annotated[int, Column("Dialogues where raters named a model")]
    latency_median: Annotated[float | None, Column("Median s", "seconds", table=SERVED)]
    latency_p95: Annotated[float | None, Column("95 % s", "seconds", table=SERVED)]
    n_cut: Annotated[int, Column("Cut off by its length limit", table=SERVED)]
    n_shortened: Annotated[int, Column("Without the oldest turns", table=SERVED)]
    most_left_out: int
    served_models: list[str]
    prompt_tokens: Annotated[int | None, Column("Tokens read", table=SERVED)]
    completion_tokens: Annotated[int | None, Column("Tokens written", table=SERVED)]
    cost: Annotated[float | None, Column("Cost", "money", table=SERVED)]
    currency: Annotated[str | None, Column("Currency", table=SERVED)]
    cost_per_dialogue: Annotated[float | None, Column("A dialogue", "money", table=SERVED)]


class Replies(Section):
    """Per model: replies shown, hidden and changed, give-aways, latency, tokens and money."""

    TITLE: ClassVar[str] = "Replies, and whether raters could tell whose they were"

    models: list[ModelReplies]

    def in_short(self) -> list[str]:
        """For the summary: models that gave themselves away, other remarks, and costs. Empty if there are none."""
        told = any(one.n_told for one in self.models)
        return [*([self.headline] if told else self.remarks), *say("replies", "in_short", models=self.models)]

    def data_tables(self) -> list[DataTable]:
        # What raters saw, and what the models took; the second only where something of it is known.
        known = [one for one in self.models if one.latency_median is not None or one.completion_tokens is not None]
        return shown(table("replies_shown", self.models), table(SERVED, known))

    def figures(self) -> list[Figure]:
        return []

    def methods(self) -> list[Method]:
        return [method("replies", "give_aways"), method("replies", "tokens_and_cost")]


def build(tables: Tables, options: Options) -> Replies | None:
    """None where no reply has a text."""
    turns = tables.turns
    live = turns[turns["text"].notna() | turns["raw_text"].notna() | turns["failed"].eq(1)]
    live = live[live["judgement_id"].isna()].drop_duplicates(["dialogue_id", "turn", "model", "position"])
    if live.empty or live["text"].isna().all():
        return None
    names = sorted(set(live["model"]))
    from parlai_humaneval.display.masking import giveaways  # its patterns take long, and most tables hold no texts

    texts = live["text"].fillna("")
    told = texts.map({text: bool(giveaways(text, names)) for text in texts.unique()}).astype(bool)
    named: set[str] = set()
    typed = live["human_fixed"].ne(1) & live["human_suggested"].ne(1)
    for column, own in (("human_text", typed.fillna(True)), ("reason", slice(None))):
        words = live.loc[own, ["dialogue_id", column]].dropna().drop_duplicates()
        named |= {
            str(dialogue)
            for dialogue, text in words.itertuples(index=False)
            if any(mask.kind in ("name", "maker") for mask in giveaways(str(text), names))
        }
    models = [_of_model(name, live[live["model"] == name], told, named) for name in names]
    timed = [(one.latency_median, one.model) for one in models if one.latency_median is not None]
    facts = {"models": models, "thoughts": ONLY_THOUGHTS, "most": NAMED}
    # Where one model speaks at a time, its speed may give it away.
    fast, slow = (min(timed), max(timed)) if timed else ((0.0, ""), (0.0, ""))
    telling = slow[0] - fast[0] >= TELLING_GAP_S
    # A remark on the languages in which give-aways could neither be hidden nor be counted: of raters' pages, and by
    # the letters of replies.
    from parlai_humaneval.display.text import foreign_script
    from parlai_humaneval.display.vocabulary import packaged, unprotected

    tags = [str(tag) for tag in tables.dialogues["language"].dropna().unique()]
    scripts = (foreign_script(str(text)) for text in live["text"].dropna().unique())
    remark = unprotected(tags, packaged(), [script for script in scripts if script is not None])
    return Replies(
        models=models,
        headline=sentence("replies", "headline", **facts),
        remarks=[
            *say("replies", "remarks", fast=fast if telling else None, slow=slow, **facts),
            *([] if remark is None else [remark]),
        ],
    )


def _of_model(name: str, rows: pd.DataFrame, told: pd.Series, named: set[str]) -> ModelReplies:
    shown, thinking = rows["failed"].ne(1), rows["blocked"].eq(ONLY_THOUGHTS)
    given_away = rows[told.loc[rows.index] & shown]
    changes = rows.loc[shown, "changes"].dropna().str.split(";").explode().value_counts()
    latency = rows["latency_s"].dropna().to_numpy(dtype=float)
    dialogues = rows["dialogue_id"].nunique()
    priced = rows[rows["cost"].notna()]
    currencies = priced["currency"].fillna("").unique()
    cost = float(priced["cost"].sum()) if len(currencies) == 1 else None  # several currencies have no sum
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
        currency=None if cost is None else str(currencies[0]) or None,
        cost_per_dialogue=None if cost is None else cost / dialogues,
    )


def _total(column: pd.Series) -> int | None:
    return int(column.sum()) if column.notna().any() else None
