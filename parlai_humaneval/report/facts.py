"""What a document says of the data beside its statistics: questions, set-up, raters, versions."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import datetime, timezone
from importlib import metadata
from typing import Any

import numpy as np
import pandas as pd

from parlai_humaneval import __version__
from parlai_humaneval.analysis.reports.facts import status_count
from parlai_humaneval.analysis.reports.judged import judged_facts
from parlai_humaneval.analysis.reports.types import Report
from parlai_humaneval.report.designs import designs_of, models_in
from parlai_humaneval.report.document import (
    Facts,
    Flagged,
    ModelFact,
    Question,
    Raters,
    SettingFact,
    Statement,
)
from parlai_humaneval.report.section import Options
from parlai_humaneval.tables.counting import is_set, median, unique
from parlai_humaneval.tables.from_records import Tables

LIBRARIES = ("numpy", "scipy", "pandas", "statsmodels", "scikit-learn", "matplotlib")


def facts_of(
    tables: Tables,
    options: Options,
    *,
    title: str,
    report: Report | None = None,
    notes: tuple[str, ...] = (),
    now: datetime | None = None,
) -> Facts:
    """Facts of ``tables``; ``report`` adds what only a task's database knows: practice, and who was left out.

    Args:
        tables: as the sections get them.
        options: of the sections.
        title: names the study, in a few words.
        report: the technique's own report of the same answers, if there is one.
        notes: what a reader must know of how the document was made.
        now: date of the document; None: the present.
    """
    return Facts(
        title=title,
        made=(now or datetime.now(timezone.utc)).isoformat(timespec="seconds"),
        techniques=sorted({name for frame in _frames(tables) for name in unique(frame["technique"])}),
        models=_models(tables),
        questions=_questions(tables),
        statements=_statements(tables),
        designs=designs_of(tables),
        settings=_settings(tables),
        raters=_raters(tables, report),
        excluded=None if report is None else report.excluded,
        flagged=_flagged(tables),
        notes=list(notes),
        seed=options.seed,
        draws=options.draws,
        level=options.level,
        versions=_versions(),
    )


def _frames(tables: Tables) -> list[pd.DataFrame]:
    return [
        tables.dialogues,
        tables.judgements,
        tables.turns,
        tables.comparisons,
        tables.ratings,
        tables.segments,
        tables.points,
    ]


def _versions() -> dict[str, str]:
    found = {"parlai-humaneval": __version__, "Python": ".".join(map(str, sys.version_info[:3]))}
    return found | {name: metadata.version(name) for name in LIBRARIES}


def _models(tables: Tables) -> list[ModelFact]:
    known: dict[str, ModelFact] = {}
    for text in unique(tables.dialogues["model_settings"]):
        for model in _list(text):
            if isinstance(model, dict) and "name" in model:
                wanted = {key: model[key] for key in ("name", "description", "source", "options") if model.get(key)}
                known.setdefault(str(model["name"]), ModelFact(**wanted))
    names = sorted({*known, *models_in(tables)})
    return [known.get(name, ModelFact(name=name)) for name in names]


def _questions(tables: Tables) -> list[Question]:
    asked: dict[tuple[str, str, str], None] = {}
    for frame in (
        tables.dialogues,
        tables.turns,
        tables.comparisons,
        tables.judgements[~is_set(tables.judgements, "gold")],
    ):
        rows = frame.loc[frame["question"].notna(), ["technique", "metric", "question"]].drop_duplicates()
        for technique, metric, question in rows.fillna("").itertuples(index=False):
            for line in str(question).split("\n"):
                asked.setdefault((str(technique), str(metric), line))
    return [Question(technique=technique, metric=metric, text=text) for technique, metric, text in sorted(asked)]


def _statements(tables: Tables) -> list[Statement]:
    found: dict[tuple[str, str], Statement] = {}
    columns = ["criterion", "statement", "scale", "minimum", "maximum"]
    rows = tables.ratings.loc[tables.ratings["statement"].notna(), columns].drop_duplicates()
    for criterion, text, scale, low, high in rows.itertuples(index=False):
        found[str(criterion), str(text)] = Statement(
            criterion=str(criterion), text=str(text), scale=_text(scale), minimum=_number(low), maximum=_number(high)
        )
    for listed in unique(tables.dialogues["turn_criteria"]):
        for one in _list(listed):
            name, text = str(one.get("name", "")), str(one.get("text", ""))
            found.setdefault((name, text), Statement(criterion=name, text=text, scale=str(one.get("scale", ""))))
    return [found[key] for key in sorted(found)]


def _settings(tables: Tables) -> list[SettingFact]:
    found = []
    for frame in (tables.dialogues, tables.judgements):
        rows = frame[frame["settings"].notna()].assign(setting=frame["setting"].fillna(""))
        for (technique, setting, text), own in rows.groupby(["technique", "setting", "settings"], sort=True):
            values = _object(str(text))
            if values:
                fact = SettingFact(technique=str(technique), setting=str(setting), values=values, units=len(own))
                found.append(fact)
    return found


def _raters(tables: Tables, report: Report | None) -> Raters:
    dialogues, judgements = tables.dialogues, tables.judgements
    finished = dialogues[is_set(dialogues, "complete")]
    units = pd.concat([dialogues["worker_id"], judgements.loc[~is_set(judgements, "gold"), "worker_id"]]).value_counts()
    days = sorted(str(day)[:10] for day in pd.concat([dialogues["started"], judgements["started"]]).dropna())
    judged = judged_facts(tables, tables.comparisons, seed=0) if len(judgements) else {}
    checks = judged.get("attention_checks")
    return Raters(
        workers=int(pd.concat([frame["worker_id"] for frame in _frames(tables)]).nunique()),
        dialogues=status_count(_status(dialogues)) if len(dialogues) else None,
        turns=_turns(tables),
        judgements=judged.get("judgements"),
        attention_checks=checks if checks and (checks.passed or checks.failed or checks.not_answered) else None,
        practice=None if report is None else report.practice,
        units_per_worker_median=float(units.median()) if len(units) else None,
        units_per_worker_most=int(units.max()) if len(units) else None,
        median_dialogue_seconds=median(finished["seconds"]),
        median_judgement_seconds=judged.get("median_seconds"),
        first_day=days[0] if days else "",
        last_day=days[-1] if days else "",
    )


def _status(dialogues: pd.DataFrame) -> pd.Series[Any]:
    return dialogues["status"].fillna(dialogues["complete"].map({1: "complete", 0: "partial"}))


def _turns(tables: Tables) -> int | None:
    """Answered ones; a table of turns from elsewhere, without its dialogues, holds answered ones only."""
    if len(tables.dialogues):
        return int(tables.dialogues["n_turns"].sum())
    if not len(tables.turns):
        return None
    own = tables.turns[
        is_set(tables.turns, "complete", missing=1) & tables.turns["own_worker"].isna().to_numpy(dtype=bool)
    ]
    return len(own[["dialogue_id", "worker_id", "turn"]].drop_duplicates())


def _flagged(tables: Tables) -> list[Flagged]:
    rows = pd.concat([frame[["worker_id", "checks_failed"]] for frame in (tables.dialogues, tables.judgements)])
    rows = rows[rows["checks_failed"].notna()]
    exploded = rows.assign(check=rows["checks_failed"].astype(str).str.split(";")).explode("check")
    return [
        Flagged(check=str(check), units=len(own), workers=int(own["worker_id"].nunique()))
        for check, own in exploded.groupby("check", sort=True)
    ]


def _list(text: str) -> Iterator[Any]:
    """Entries of a JSON list; nothing where the text, which may come from anywhere, is none."""
    value = _json(text)
    yield from (one for one in value if isinstance(one, dict)) if isinstance(value, list) else ()


def _object(text: str) -> dict[str, Any]:
    value = _json(text)
    return value if isinstance(value, dict) else {}


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _text(value: Any) -> str:
    return "" if pd.isna(value) else str(value)


def _number(value: Any) -> float | None:
    return None if pd.isna(value) or not np.isfinite(float(value)) else float(value)
