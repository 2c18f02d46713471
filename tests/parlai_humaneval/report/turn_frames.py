"""Sections on turns of records, and of tables that are written down in a test."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd

from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.turn_choices import build
from parlai_humaneval.tables.build import tables
from parlai_humaneval.tables.files import read_tables


def section_of(records):
    found = build(tables(records), Options())
    assert found is not None
    return found


def from_frame(frame, folder):
    frame.to_csv(folder / "turns.csv", index=False)
    return build(read_tables(folder), Options())


def frame_of(chosen, models, *, workers, turns=10, setting="", technique="study", metric="preference", one_model=False):
    """Exchange columns: ``chosen`` turns × models; dialogues of ``turns`` turns; places rotate."""
    n, k = np.shape(chosen)
    rows = []
    for turn in range(n):
        for column, model in enumerate(models):
            rows.append(
                {
                    "dialogue_id": f"{technique}{setting}{models if one_model else ''}{turn // turns}",
                    "worker_id": f"w{workers[turn]}",
                    "technique": technique,
                    "setting": setting,
                    "metric": metric,
                    "turn": turn % turns + 1,
                    "model": model,
                    "position": (column + turn) % k + 1,
                    "selected": int(chosen[turn][column]),
                    "continued": 0,
                    "written": 0,
                    "seconds": "",
                }
            )
    return pd.DataFrame(rows)


def numbers(value):
    if isinstance(value, dict):
        for part in value.values():
            yield from numbers(part)
    elif isinstance(value, list):
        for part in value:
            yield from numbers(part)
    elif isinstance(value, float):
        yield value


def check_shown(section):
    """JSON without nan, tables whose rows have all their columns, unique keys, figures, methods and a headline."""
    assert all(math.isfinite(number) for number in numbers(json.loads(section.model_dump_json())))
    shown, figures = section.data_tables(), section.figures()
    for table in shown:
        assert table.rows
        assert all(set(row) == {column.key for column in table.columns} for row in table.rows)
    keys = [view.key for view in (*shown, *figures)]
    assert len(keys) == len(set(keys))
    assert section.headline.endswith(".")
    assert section.methods()
