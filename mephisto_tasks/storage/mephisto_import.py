"""Mephisto's database → units of ParlAI's own crowd tasks, only read, without Mephisto: for ``parlai-humaneval import``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from mephisto_tasks.storage.results import ResultsError, dict_rows, no_such_task, query
from parlai_humaneval._util.data_files import read_json
from parlai_humaneval.importers.readers import SavedFormat
from parlai_humaneval.importers.units import DONE, LeftOut, Unit, UnreadableUnit, of_state

BLUEPRINTS: Mapping[str, SavedFormat] = {
    "model_chat_blueprint": "model_chat",
    "per_turn_eval_blueprint": "pairwise_per_turn_eval",
    "acute_eval": "acute_eval",
    "fast_acute": "acute_eval",
}
"""ParlAI's blueprint types whose results can be read."""

FILES: Mapping[SavedFormat, str] = {
    "model_chat": "state.json",
    "pairwise_per_turn_eval": "state.json",
    "acute_eval": "agent_data.json",
}

EXPORT = "to get tables of parlai-humaneval's own tasks, run `parlai-humaneval export`"

Found = tuple[SavedFormat, Unit | LeftOut | UnreadableUnit]


@dataclass(frozen=True)
class StoredUnits:
    """Units of the chosen tasks, which are read as you iterate; ``others``: tasks that were left out, and why."""

    count: int
    tasks: tuple[str, ...]
    others: tuple[str, ...]
    units: Iterator[Found]


def stored_units(data_dir: Path, names: Sequence[str] = ()) -> StoredUnits:
    """Units of the tasks ``names``, or of all tasks that ParlAI's blueprints ran. Raises ResultsError."""
    tasks = [(str(name), str(kind)) for name, kind in query(data_dir, "tasks_of_type")]
    chosen = {name for name, kind in tasks if kind in BLUEPRINTS and (not names or name in names)}
    refused = [f"{name!r} (blueprint {kind})" for name, kind in tasks if kind not in BLUEPRINTS]
    _check_names(data_dir, names, tasks)
    if not chosen:
        there = f"only {', '.join(refused)}" if refused else "and no other task"
        raise ResultsError(f"{data_dir} has no task of ParlAI's own ({', '.join(BLUEPRINTS)}), {there}", try_=EXPORT)
    rows = [
        row for row in dict_rows(data_dir, "all_parts") if row["task_name"] in chosen and row["task_type"] in BLUEPRINTS
    ]
    others = () if names else tuple(f"{one} is not one of ParlAI's own tasks, so it was left out." for one in refused)
    return StoredUnits(len(rows), tuple(sorted(chosen)), others, _units(data_dir, rows))


def _check_names(data_dir: Path, names: Sequence[str], tasks: Sequence[tuple[str, str]]) -> None:
    for name in names:
        kinds = [kind for task, kind in tasks if task == name]
        if not kinds:
            raise no_such_task(data_dir, name, list(dict.fromkeys(task for task, _ in tasks)))
        if not any(kind in BLUEPRINTS for kind in kinds):
            raise ResultsError(
                f"task {name!r} was run by the blueprint {', '.join(kinds)}, and only {', '.join(BLUEPRINTS)} of ParlAI "
                "can be imported",
                try_=EXPORT,
            )


def _units(data_dir: Path, rows: Sequence[Mapping[str, Any]]) -> Iterator[Found]:
    bases = (data_dir / "data" / "runs", data_dir / "runs")
    folders = {run.name: run for base in bases for run in sorted(base.glob("*/*")) if run.is_dir()}
    questions: dict[str, dict[str, Any]] = {}
    for row in rows:
        kind, run = BLUEPRINTS[row["task_type"]], str(row["task_run_id"])
        if row["status"] not in DONE:
            yield kind, LeftOut(f"Mephisto's status is {row['status']}")
            continue
        if run not in questions:
            questions[run] = _questions(row["init_params"])
        path = Path(str(row["assignment_id"])) / str(row["agent_id"]) / FILES[kind]
        if run in folders:
            yield kind, _unit(folders[run] / path, row, questions[run])
        else:
            missing = f"the files of launch {run} are missing (data/runs/…/{run}/{path})"
            yield kind, UnreadableUnit(missing, where=data_dir)


def _unit(path: Path, row: Mapping[str, Any], questions: Mapping[str, Any]) -> Unit | LeftOut | UnreadableUnit:
    if not path.exists():
        return UnreadableUnit(f"there is no such file, though Mephisto's status is {row['status']}", where=path)
    try:
        state = read_json(path, error=UnreadableUnit)
    except UnreadableUnit as error:
        return error
    if not isinstance(state, dict):
        return UnreadableUnit("holds no object", where=path)
    known = {name: str(row[name]) for name in ("task_name", "task_run_id", "unit_id", "assignment_id")}
    try:
        return of_state(state, str(path), worker=str(row["worker_name"]), **known, **questions)
    except UnreadableUnit as error:
        return error


def _questions(parameters: str) -> dict[str, Any]:
    """The questions to raters. They are in the settings of the launch alone: YAML in a JSON text."""
    try:
        settings = json.loads(parameters)
        settings = yaml.safe_load(settings) if isinstance(settings, str) else settings
        blueprint = settings["blueprint"] if "blueprint" in settings else settings["mephisto"]["blueprint"]
        question = blueprint.get("task_question") or blueprint.get("annotation_question")
        final = blueprint.get("final_rating_question")
    except (ValueError, yaml.YAMLError, TypeError, KeyError, AttributeError):
        return {}
    found = {"question": question if isinstance(question, str) else None}
    return {**found, "final_questions": tuple(final.split("|")) if isinstance(final, str) and final else ()}
