"""Facts of a document besides its statistics, and their wording: designs, questions, set-up, raters, versions."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from functools import lru_cache
from importlib import metadata
from typing import Any

import numpy as np
import pandas as pd

from parlai_humaneval._util import __version__
from parlai_humaneval._util.arrays import Flags
from parlai_humaneval._util.text import json_list, on_one_line
from parlai_humaneval.dialogues.messages import json_in
from parlai_humaneval.report import document
from parlai_humaneval.report.section import Options, Summary, say
from parlai_humaneval.report.summary import name_of
from parlai_humaneval.report.views import DataTable, listed_table, shown
from parlai_humaneval.statistics.core.formatting import counted
from parlai_humaneval.tables.build import Tables
from parlai_humaneval.tables.filters import finished, is_set, median, rater_kinds, unique

HUMAN = "human"
"""In segments the people whose dialogues were judged; in other tables a model may have this name."""
CELL = ("technique", "setting", "metric")
Cell = tuple[str, ...]
"""The values of these; empty where a table does not say."""

_MODEL_COLUMNS = {
    "turns": ("model",),
    "comparisons": ("model_a", "model_b"),
    "ratings": ("model",),
    "segments": ("model", "opponent"),
}
"""Tables of answers; ``points`` repeats turns."""


def models_in(tables: Tables) -> set[str]:
    """All rated models, without people whose dialogues were rated."""
    return {name for table, columns in _MODEL_COLUMNS.items() for name in _model_names(getattr(tables, table), table)}


@lru_cache(maxsize=2)
def designs_of(tables: Tables) -> tuple[document.Design, ...]:
    """Sorted by technique, setting and metric; kept, as both the title and the facts name them."""
    rows: dict[Cell, dict[str, int]] = {}
    models: dict[Cell, set[str]] = {}
    workers: dict[Cell, set[str]] = {}
    for table, columns in _MODEL_COLUMNS.items():
        frame = getattr(tables, table)[[*CELL, "worker_id", *columns]]
        if frame.empty:
            continue
        keys = frame[list(CELL)].fillna("").astype(str)
        for cell, own in frame.groupby([keys[name] for name in CELL], sort=True):
            rows.setdefault(cell, {})[table] = len(own)
            models.setdefault(cell, set()).update(_model_names(own, table))
            workers.setdefault(cell, set()).update(map(str, own["worker_id"].unique()))
    return tuple(
        document.Design(
            **dict(zip(CELL, cell, strict=True)),
            models=sorted(models[cell]),
            workers=len(workers[cell]),
            tables=rows[cell],
        )
        for cell in sorted(rows)
    )


def _model_names(frame: pd.DataFrame, table: str) -> Iterator[str]:
    for column in _MODEL_COLUMNS[table]:
        for cell in frame[column].dropna().unique():
            yield from (name for name in str(cell).split(";") if table != "segments" or name != HUMAN)


_TURN = ["dialogue_id", "worker_id", "turn"]
VERSIONS = {name: metadata.version(name) for name in ("numpy", "scipy", "pandas", "scikit-learn", "matplotlib")}


def facts_of(
    tables: Tables,
    options: Options,
    *,
    title: str,
    task: document.TaskFacts | None = None,
    notes: tuple[str, ...] = (),
    now: datetime | None = None,
) -> document.Facts:
    """Facts of ``tables``; all else as :func:`~parlai_humaneval.report.build.build_report` has it."""
    frames = [getattr(tables, name) for name in ("dialogues", "judgements", *_MODEL_COLUMNS, "points")]
    rated = {name for frame in frames for name in unique(frame["technique"])}
    named = {name for frame in frames[:2] for name in unique(frame["task_name"])}
    failures = pd.concat([frame["failure"].dropna() for frame in frames[:2]]).value_counts()
    settings = settings_of(tables)
    python = ".".join(map(str, sys.version_info[:3]))
    known: dict[str, document.ModelFact] = {}
    for text in unique(tables.dialogues["model_settings"]):
        for model in _list(text):
            if isinstance(model, dict) and "name" in model:
                wanted = {key: model[key] for key in ("name", "description", "source", "options") if model.get(key)}
                known.setdefault(str(model["name"]), document.ModelFact(**wanted))
    names = sorted({*known, *models_in(tables)})
    return document.Facts(
        title=title,
        made=(now or datetime.now(timezone.utc)).isoformat(timespec="seconds"),
        tasks=sorted(named) or ([] if task is None else task.tasks),
        from_task=task is not None,
        techniques=sorted(rated) or ([task.technique] if task is not None and task.technique else []),
        include_partial=options.include_partial,
        models=[known.get(name, document.ModelFact(name=name)) for name in names],
        questions=questions_in(tables),
        statements=_statements(tables),
        designs=list(designs_of(tables)),
        settings=settings,
        registered=registered_in(tables, settings, task),
        raters=_raters(tables, options, task),
        excluded=None if task is None else task.excluded,
        flagged=_flagged(tables, options.include_partial),
        repeats=list(tables.repeats),
        failures=[on_one_line(str(text).removeprefix("models failed: "), LONGEST_FAILURE) for text in failures.index],
        notes=[*notes, *(one.words for one in tables.cleaned)],
        seed=options.seed,
        draws=options.draws,
        level=options.level,
        versions={"parlai-humaneval": __version__, "Python": python, **VERSIONS},
    )


def questions_in(tables: Tables) -> list[document.Question]:
    """The questions in their exact words, without attention checks."""
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
    names = ("technique", "metric", "text")
    return [document.Question(**dict(zip(names, question, strict=True))) for question in sorted(asked)]


def _statements(tables: Tables) -> list[document.Statement]:
    found: dict[tuple[str, str], document.Statement] = {}
    columns = ["criterion", "statement", "scale", "minimum", "maximum"]
    rows = tables.ratings.loc[tables.ratings["statement"].notna(), columns].drop_duplicates()
    for criterion, text, scale, *ends in rows.itertuples(index=False):
        low, high = (None if pd.isna(end) or not np.isfinite(float(end)) else float(end) for end in ends)
        named = {"criterion": str(criterion), "text": str(text), "scale": "" if pd.isna(scale) else str(scale)}
        found[str(criterion), str(text)] = document.Statement(**named, minimum=low, maximum=high)
    for listed in unique(tables.dialogues["turn_criteria"]):
        for one in _list(listed):
            name, text, scale = (str(one.get(key, "")) for key in ("name", "text", "scale"))
            found.setdefault((name, text), document.Statement(criterion=name, text=text, scale=scale))
    return [found[key] for key in sorted(found)]


def settings_of(tables: Tables) -> list[document.SettingFact]:
    """The launch settings of each technique and setting, if they are in the tables."""
    found = []
    for frame in (tables.dialogues, tables.judgements):
        rows = frame[frame["settings"].notna()].assign(setting=frame["setting"].fillna(""))
        for (technique, setting, text), own in rows.groupby(["technique", "setting", "settings"], sort=True):
            values = json_in(str(text))
            if values and isinstance(values, dict):
                named = {"technique": str(technique), "setting": str(setting)}
                found.append(document.SettingFact(**named, values=values, units=len(own)))
    return found


def decided_designs(tables: Tables) -> list[tuple[str, str, str]]:
    """Technique, setting and metric of each study that stops once it reaches a decision, by its log or settings. Attention
    checks, whose setting may differ, do not count."""
    of_studies = replace(tables, judgements=tables.judgements[~is_set(tables.judgements, "gold")])
    ending = (fact for fact in settings_of(of_studies) if fact.values.get("stop") == "decided")
    designs = {(fact.technique, fact.setting, str(fact.values.get("metric", ""))) for fact in ending}
    begun = (log.events[0] for log in tables.stopping if log.events)
    for event in begun:
        technique, setting, metric = (str(event.get(name) or "") for name in CELL)
        designs |= {(technique, setting, metric)} if technique else set()
    return sorted(designs)


def registered_in(
    tables: Tables, settings: Sequence[document.SettingFact], task: document.TaskFacts | None
) -> list[document.Registration]:
    """The studies' registrations, and deviations from them; ``task``: whose raters may have been left out."""
    texts = [(str(text), fact) for fact in settings if (text := fact.values.get("prereg"))]
    if not texts:
        return []
    from parlai_humaneval.planning.preregistration import PreregistrationError, parse_preregistration

    found: dict[str, document.Registration] = {}
    for text, fact in texts:
        try:
            facts = parse_preregistration(text, "prereg")
        except PreregistrationError:  # tables from elsewhere may hold anything
            continue
        # The cap of a study as its log last had it, which may be raised before any answer comes under it.
        design = {"technique": fact.technique, "setting": fact.setting, "metric": fact.values.get("metric")}
        raised = [
            int(event["max_dialogues"])
            for log in tables.stopping
            if log.events and all((log.events[0].get(name) or "") == (value or "") for name, value in design.items())
            for event in log.events
            if event.get("event") == "extended" and isinstance(event.get("max_dialogues"), int)
        ]
        changes = list(map(str, facts.changes({**fact.values, **({"max_dialogues": max(raised)} if raised else {})})))
        left_out = [] if task is None or task.excluded is None else [row.check for row in task.excluded.counts]
        if task is not None and sorted(left_out) != sorted(facts.exclude):
            before, now = (", ".join(sorted(checks)) or "none" for checks in (facts.exclude, left_out))
            changes.append(f"the checks that leave raters out were {before} and are now {now}")
        # How many raters of a technique and setting were programs.
        programs: set[str] = set()
        for rows in (tables.dialogues, tables.judgements):
            of_it = rows["technique"].eq(fact.technique) & rows["setting"].fillna("").eq(fact.setting)
            programs |= set(rows.loc[of_it & is_set(rows, "simulated"), "worker_id"])
        if simulated := len(programs):
            changes.append(f"{simulated:,} of its raters {'was' if simulated == 1 else 'were'} simulated")
        before_it = found[facts.digest].deviations if facts.digest in found else []
        found[facts.digest] = document.Registration(
            digest=facts.digest,
            technique=facts.technique,
            deviations=list(dict.fromkeys([*before_it, *changes])),
            words="",
        )
    return [
        one.model_copy(update={"words": "".join(say("conclusions", "registered", one=one, several=len(found) > 1))})
        for one in found.values()
    ]


def _raters(tables: Tables, options: Options, task: document.TaskFacts | None) -> document.Raters:
    dialogues, gold = tables.dialogues, is_set(tables.judgements, "gold")
    judgements, checks = tables.judgements[~gold], tables.judgements[gold]
    complete = dialogues[is_set(dialogues, "complete")]
    units = pd.concat([dialogues["worker_id"], judgements["worker_id"]]).value_counts()
    days = sorted(str(day)[:10] for day in pd.concat([dialogues["started"], tables.judgements["started"]]).dropna())
    answered = _turns(tables)
    begun = dialogues["n_turns_started"].fillna(dialogues["n_turns"])
    kinds = rater_kinds(tables)
    # Over turns in which something was asked: others are answered at once by the program, in 0 s.
    turns = tables.turns
    counts = (finished(turns) | options.include_partial) & turns["judgement_id"].isna().to_numpy(dtype=bool)
    several = turns.duplicated(["dialogue_id", "worker_id", "judgement_id", "turn"], keep=False).to_numpy(dtype=bool)
    choice = several & ~is_set(turns, "continued_each") & ~is_set(turns, "automatic")
    timed = turns[counts & (choice | turns["tick_choices"].notna().to_numpy(dtype=bool))].drop_duplicates(_TURN)
    started = pd.concat([dialogues["worker_id"], judgements["worker_id"]])
    ended = [_is_complete(_status(dialogues)), _is_complete(judgements["status"])]
    done = started[np.concatenate(ended)]
    return document.Raters(
        workers=kinds.workers,
        workers_finished=kinds.workers - len(set(started.dropna()) - set(done)),
        simulated=kinds.simulated,
        people=kinds.people,
        dialogues=_status_count(_status(dialogues)) if len(dialogues) else None,
        turns=answered,
        turns_not_answered=max(0, int(begun.sum()) - (answered or 0)) if len(dialogues) else None,
        judgements=_status_count(judgements["status"]) if len(tables.judgements) else None,
        items=int(judgements["item_id"].nunique()) if len(judgements) else None,
        dialogues_shown=int(judgements["dialogues"].str.split(";").explode().nunique()) if len(judgements) else None,
        attention_checks=_attention(checks) if len(checks) else None,
        practice=None if task is None else task.practice,
        units_per_worker_median=float(units.median()) if len(units) else None,
        units_per_worker_most=int(units.max()) if len(units) else None,
        median_turn_seconds=median(timed["seconds"]),
        median_dialogue_seconds=median(complete["seconds"]),
        median_judgement_seconds=median(
            judgements[judgements["status"].eq("complete").to_numpy(dtype=bool)]["seconds"]
        ),
        first_day=days[0] if days else "",
        last_day=days[-1] if days else "",
    )


def _attention(checks: pd.DataFrame) -> document.AttentionChecks:
    failed = ~is_set(checks, "gold_passed", missing=1)
    return document.AttentionChecks(
        passed=int(is_set(checks, "gold_passed").sum()),
        failed=int(failed.sum()),
        not_answered=int(checks["gold_passed"].isna().sum()),
        workers_failing=int(checks[failed]["worker_id"].nunique()),
    )


def _status_count(status: pd.Series[Any]) -> document.DialogueCount:
    counts = status.value_counts()
    return document.DialogueCount(**{name: int(counts.get(name, 0)) for name in document.DialogueCount.model_fields})


def _status(dialogues: pd.DataFrame) -> pd.Series[Any]:
    return dialogues["status"].fillna(dialogues["complete"].map({1: "complete", 0: "partial"}))


def _turns(tables: Tables) -> int | None:
    """Answered ones; a table of turns from elsewhere, without its dialogues, holds answered ones only."""
    if len(tables.dialogues):
        return int(tables.dialogues["n_turns"].sum())
    if not len(tables.turns):
        return None
    own = is_set(tables.turns, "complete", missing=1) & tables.turns["own_worker"].isna().to_numpy(dtype=bool)
    return len(tables.turns[_TURN][own].drop_duplicates())


def _is_complete(status: pd.Series[Any]) -> Flags:
    """What tables from elsewhere do not call unfinished is complete."""
    return status.fillna("complete").eq("complete").to_numpy(dtype=bool)


def _flagged(tables: Tables, include_partial: bool) -> list[document.Flagged]:
    """Checks that raters failed, in dialogues and judgements that count. Attention checks do not count."""
    dialogues, judgements = tables.dialogues, tables.judgements[~is_set(tables.judgements, "gold")]
    counting = [
        dialogues[_is_complete(_status(dialogues)) | include_partial],
        judgements[_is_complete(judgements["status"])],
    ]
    units = pd.concat([frame[["worker_id", "checks_failed"]] for frame in counting])
    rows = units[units["checks_failed"].notna()]
    exploded = rows.assign(check=rows["checks_failed"].astype(str).str.split(";")).explode("check")
    return [
        document.Flagged(
            check=str(check),
            units=len(failed),
            workers=int(failed["worker_id"].nunique()),
            of_units=len(units),
            of_workers=int(units["worker_id"].nunique()),
        )
        for check, failed in exploded.groupby("check", sort=True)
    ]


def _list(text: str) -> Iterator[Any]:
    """Entries of a JSON list; nothing where the text, which may come from anywhere, is none."""
    yield from (one for one in json_list(text) if isinstance(one, dict))


LONGEST_FAILURE = 300
NAMED = 20
"""As many workers are named in a line."""
MANY_LEFT = 0.1
"""Share of dialogues that were left in the middle, from which on that is warned of."""

CHECKS_IN_DOCS = "Which answers count"
"""Title of the documentation's page that says what each check means."""

OVERLAP = "An answer that fails two checks is counted in the rows of both checks."

Pair = tuple[str, str]
"""A label and what it says."""


def qualifying(facts: document.Facts, answers: Sequence[Summary], in_short: Sequence[str]) -> list[str]:
    """Qualifications of the verdict, each once: data left out or unfinished, and the remarks of the answers.

    One that is not about all answers names those that it is about. ``in_short``: what sections say that answer no question.
    """
    about: dict[str, list[Summary]] = {}
    for answer in answers:
        for remark in answer.remarks:
            about.setdefault(remark, []).append(answer)
    remarks = [_naming(remark, found, len(answers)) for remark, found in about.items()]
    found = _said(facts, "qualifying", remarks=remarks, in_short=in_short)
    models = {model.name for model in facts.models}
    # With a capital, unless a sentence begins with the name of a model.
    begun = (line if any(map(line.startswith, models)) else f"{line[:1].upper()}{line[1:]}" for line in found)
    return list(dict.fromkeys(begun))


def _naming(remark: str, about: Sequence[Summary], of: int) -> str:
    named = all((one.metric or one.question or one.technique) in remark for one in about)
    return remark if named or len(about) == of else f"{'; '.join(dict.fromkeys(map(name_of, about)))}: {remark}"


def raters_line(facts: document.Facts) -> str:
    """The raters and their amount of work, in one line."""
    return "; ".join(_said(facts, "line"))


def raters_words(facts: document.Facts) -> list[Pair]:
    """The raters and how much they rated, line by line; unknown facts have no line."""
    told = _said(facts, "labelled")
    return list(zip(told[::2], told[1::2], strict=True))


def _said(facts: document.Facts, part: str, **values: Any) -> list[str]:
    named = {"named": NAMED, "many_left": MANY_LEFT, "checks_in_docs": CHECKS_IN_DOCS}
    return [line for line in say("facts", part, facts=facts, **named, **values) if line]


def data_words(facts: document.Facts) -> list[Pair]:
    """Dates and versions, for the head of the document."""
    raters = facts.raters
    pairs = [("Techniques", ", ".join(facts.techniques)), ("Models", ", ".join(model.name for model in facts.models))]
    days = raters.first_day if raters.first_day == raters.last_day else f"{raters.first_day} to {raters.last_day}"
    return [(label, words) for label, words in [*pairs, ("Rated", days)] if words]


def facts_tables(facts: document.Facts) -> list[DataTable]:
    """Tables of the set-up: the data, the scales, and the models."""
    designs = listed_table(
        "setup_designs",
        [
            {
                **{name: getattr(design, name) or None for name in ("technique", "setting", "metric")},
                "models": ", ".join(design.models),
                "workers": design.workers,
                "rows": ", ".join(f"{name} {count:,}" for name, count in design.tables.items()),
            }
            for design in facts.designs
        ],
    )
    statements = listed_table(
        "setup_statements",
        [{"criterion": one.criterion, "text": one.text, "scale": one.whole_scale or None} for one in facts.statements],
    )
    models = listed_table(
        "setup_models",
        [
            {
                "model": model.name,
                **{name: getattr(model, name) or None for name in ("description", "source")},
                "options": json.dumps(model.options, ensure_ascii=False, default=str) if model.options else None,
            }
            for model in facts.models
            if model.description or model.source or model.options
        ],
    )
    return shown(designs, statements, models)


def excluded_table(excluded: document.Excluded) -> DataTable:
    """The findings of each check, and the data left out by all of them together."""
    judged = excluded.judgements_total > 0
    live = {"dialogues_failed", "dialogues_removed", "turns_removed"}
    hidden = {"judgements_removed"} if not judged else set() if excluded.dialogues_total > 0 else live
    reach = "everything that a failing rater did" if excluded.scope == "worker" else "the dialogues that failed"
    where = f"Checked in {counted(len(excluded.tasks), 'task')}: {', '.join(excluded.tasks)}." if excluded.tasks else ""
    told = say("facts", "left_out_here", facts={"excluded": excluded, "raters": None})
    rows = [row.model_dump() for row in excluded.counts]
    return listed_table("excluded", rows, filter(None, (*told, where, OVERLAP)), hidden, reach=reach)
