"""Tables → the measures of a study."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from parlai_humaneval.protocol.records.judgement import HUMAN
from parlai_humaneval.statistics.likert import likert_groups
from parlai_humaneval.statistics.measures import (
    Answers,
    GapData,
    Measure,
    Unit,
    alike_of_gaps,
    answers_by_model,
    paired_gaps,
    separate_gaps,
)
from parlai_humaneval.statistics.pair_wins import GROUP, counted_comparisons, oriented
from parlai_humaneval.statistics.slider_scores import assessed
from parlai_humaneval.statistics.standardised_scores import overall_parts
from parlai_humaneval.tables.choices import choice_groups
from parlai_humaneval.tables.counting import finished
from parlai_humaneval.tables.from_records import Tables


def measures(tables: Tables) -> list[Measure]:
    """All that the tables measure, in the order of the report's sections."""
    return [*_turns(tables), *_comparisons(tables), *_sliders(tables), *_likert(tables), *_segments(tables)]


def _turns(tables: Tables) -> Iterator[Measure]:
    for group in choice_groups(tables):
        turns = group.turns
        if group.kind == "single":
            columns = [
                Answers(model, turns.chosen[:, number], turns.workers, turns.dialogues)
                for number, model in enumerate(turns.models)
            ]
            gaps, alike = separate_gaps(columns)
        else:
            gaps, alike = paired_gaps(turns.models, turns.chosen, turns.workers, turns.dialogues)
        yield Measure("turns", group.technique, group.setting, group.metric, "turn", "share", alike, gaps)


def _comparisons(tables: Tables) -> Iterator[Measure]:
    """Decided ones: a win of A counts 1, of B −1, so that the mean is the gap of their win rates.

    Comparisons of turns are left to the table of turns, where there is one.
    """
    rows = oriented(counted_comparisons(tables))
    decided = (rows["outcome"] != 0).to_numpy(dtype=bool)
    of_turns = rows["kind"].eq("turn").to_numpy(dtype=bool) & bool(len(tables.turns))
    rows = rows[decided & ~of_turns]
    for key, own in rows.groupby(list(GROUP), sort=True):
        technique, setting, _, metric = (str(part) for part in key)
        gaps = [
            GapData(
                str(a),
                str(b),
                pair["outcome"].to_numpy(dtype=float),
                pair["worker_id"].to_numpy(dtype=object),
                pair["dialogue_a"].to_numpy(dtype=object),
            )
            for (a, b), pair in own.groupby(["model_a", "model_b"], sort=True)
        ]
        alike = alike_of_gaps(gaps, len(own))
        yield Measure("comparisons", technique, setting, metric, "decided comparison", "share", alike, gaps)


def _sliders(tables: Tables) -> Iterator[Measure]:
    data = assessed(tables)
    if data is None or data.counted.empty:
        return
    technique = str(data.counted["technique"].fillna("").iloc[0])
    kinds: tuple[tuple[str, str, Unit], ...] = (("raw", "overall, raw", "points"), ("z", "overall z", "z"))
    for column, name, unit in kinds:
        answers = [
            Answers(str(model), *overall_parts(own, column)) for model, own in data.counted.groupby("model", sort=True)
        ]
        gaps, alike = separate_gaps(answers)
        yield Measure("ratings", technique, "", name, "rated dialogue", unit, alike, gaps)


def _likert(tables: Tables) -> Iterator[Measure]:
    for group in likert_groups(tables):
        answers = [Answers(own.model, own.values, own.workers, own.dialogues) for own in group.models]
        gaps, alike = separate_gaps(answers)
        name = group.criterion
        yield Measure("ratings", group.technique, group.setting, name, "rating", "points", alike, gaps)


def _segments(tables: Tables) -> Iterator[Measure]:
    """How often a bot was taken for a person."""
    rows = tables.segments
    bots = rows[finished(rows) & (rows["model"] != HUMAN).to_numpy(dtype=bool)]
    bots = bots.assign(technique=bots["technique"].fillna(""), setting=bots["setting"].fillna(""))
    for (technique, setting), own in bots.groupby(["technique", "setting"], sort=True):
        human = np.asarray(own["label"] == HUMAN, dtype=float)
        gaps, alike = separate_gaps(answers_by_model(own, human))
        yield Measure("segments", str(technique), str(setting), "taken for human", "label", "share", alike, gaps)
