"""Section ``style_control``: leads at equal length, format and position (Li, Angelopoulos & Chiang 2024)."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from parlai_humaneval.report.conclusions import BY_WORKER, holm_methods
from parlai_humaneval.report.section import Options, Section, say, sentence, told
from parlai_humaneval.report.sections.comparisons import ComparedRow, group_words
from parlai_humaneval.report.views import DataTable, Figure, Method, interval_figures, look, method, shown, table
from parlai_humaneval.statistics.core.rows import Column
from parlai_humaneval.statistics.preference.paired_answers import by_question, paired_answers, styles_of
from parlai_humaneval.statistics.ranking.style_control import StyleEffect, StylePair, style_control
from parlai_humaneval.tables.build import Tables

KEY = "style_control"
NAMED = 4
"""The most pairs to name."""


class ControlledPair(StylePair, ComparedRow):
    """The pair under one question; ``became``: kept, gone, turned, shown, cannot tell or none."""

    lead: Annotated[str, Column("The lead", name="became")] = ""


class ControlledEffect(StyleEffect, ComparedRow):
    """The effect under one question."""


class StyleControlled(Section):
    """Leads as they were rated and at equal style, and what goes with being chosen."""

    TITLE: ClassVar[str] = "Do length and format explain the lead?"

    pairs: list[ControlledPair]
    effects: list[ControlledEffect]
    changed: list[str] = Field(default_factory=list, exclude=True)

    def data_tables(self) -> list[DataTable]:
        pairs = table("style_control_pairs", self.pairs, *say(KEY, "of_pairs"))
        return shown(pairs, table("style_control_effects", self.effects, *say(KEY, "of_effects", effects=self.effects)))

    def figures(self) -> list[Figure]:
        points = [
            (f"{pair.model_a} over {pair.model_b}, {when}", rate)
            for pair in self.pairs[:NAMED]
            for when, rate in (("as rated", pair.chance_before), ("equal style", pair.chance_after))
        ]
        return [*interval_figures(**look(KEY), results=points)]

    def methods(self) -> list[Method]:
        results = [pair.after for pair in self.pairs]
        style = method(KEY, "style_control", features=sentence(KEY, "of_features", effects=self.effects))
        return [style, BY_WORKER, *holm_methods(results)] if results else []

    def in_short(self) -> list[str]:
        return self.changed


def build(tables: Tables, options: Options) -> StyleControlled | None:
    """None where no text of two models that were compared is known."""
    answers = paired_answers(tables)
    if answers.empty:
        return None
    sides = styles_of(tables, answers)
    has_texts = ~np.isnan(sides[0][:, 0] + sides[1][:, 0])
    if not has_texts.any():
        return None
    section = StyleControlled(pairs=[], effects=[])
    asked: list[dict[str, Any]] = []
    for group, places in by_question(answers):
        known = places[has_texts[places]]
        if not len(known):
            continue
        row = ComparedRow(**group)
        rows = answers.iloc[known]
        found = style_control(
            rows["model_a"],
            rows["model_b"],
            rows["outcome"],
            rows["worker_id"],
            (sides[0][known], sides[1][known]),
            first_shown=rows["first_a"],
            dialogues=(rows["dialogue_a"].to_numpy(dtype=object), rows["dialogue_b"].to_numpy(dtype=object)),
            family=row.group,
            level=options.level,
        )
        section.pairs += [ControlledPair.of(pair, group, lead=pair.became) for pair in found.pairs]
        section.effects += [ControlledEffect.of(effect, group) for effect in found.effects]
        asked.append({"where": group_words(row), "found": found, "without": len(places) - len(known)})
    said = told(KEY, asked=asked, named=NAMED, pairs=section.pairs, effects=section.effects)
    changed = [line for one in asked for line in say(KEY, "in_short", named=NAMED, **one)]
    return section.model_copy(update={**said, "changed": changed})
