"""ParlAI's two chat tasks, in which Human and Bot Speaker talk in turn: ``model_chat`` and ``pairwise_per_turn_eval``.

Sources of the formats: ParlAI 1.7.2, ``crowdsourcing/tasks/model_chat`` (worlds.py, analysis/compile_results.py, and the
page, which sends the ratings of several questions as one text with ``|`` between, and one before the first), where a person
chats with one model, ticks what applies to each reply, and rates it at the end; and
``crowdsourcing/tasks/pairwise_per_turn_eval`` (the same files), where two models reply and a person chooses with which the
chat goes on: the PW-Turn of Smith et al. 2022, §3.1.2. The saved chat data has no positions; the messages of a
``state.json`` tell them (top is 1, bottom 2), and the time to each choice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from parlai_humaneval._util.table_files import plain_name
from parlai_humaneval.dialogues.chats import Act, acts_of
from parlai_humaneval.importers import units
from parlai_humaneval.importers.units import ImportPlan, Rows, Unit, UnreadableUnit, optional, required, shown
from parlai_humaneval.tables.build_dialogues import MEPHISTO, comparison_cells, copied, json_cell
from parlai_humaneval.tables.columns import Row, iso_time
from parlai_humaneval.tables.schema import STUDY, is_problem
from parlai_humaneval.techniques.questions import RANGES


@dataclass(frozen=True)
class _Exchange:
    """What the Human Speaker said, and how the Bot Speaker went on; ``turn`` counts from 1."""

    turn: int
    human: Act
    bot: Act

    def columns(self, question: str | None) -> Row:
        """What all rows of a turn share."""
        said = {"human_text": _text(self.human), "human_fixed": int(self.human.fixed)}
        return {"question": question, "turn": self.turn, "written": 0, "complete": 1, **said}


@dataclass(frozen=True)
class _Chat:
    """A saved dialogue; ``task``: its task_description. Beginnings that were given to both are no exchanges."""

    unit: Unit
    dialogue_id: str
    worker: str
    task: Mapping[str, Any]
    exchanges: tuple[_Exchange, ...]

    def study(self, technique: str, setting: str, metric: str) -> Row:
        """What all rows of a chat share."""
        study = {"technique": technique, "setting": setting, "metric": metric}
        return {"dialogue_id": self.dialogue_id, "worker_id": self.worker, **study}

    def row(self, study: Row, question: str | None, *, complete: bool) -> Row:
        """The row in the table ``dialogues``."""
        unit, data = self.unit, self.unit.data
        # ParlAI's own check of what the worker typed: null where it was off, an empty text where it was passed.
        violations = data.get("acceptability_violations")
        found = violations[0] if isinstance(violations, list) and violations else None
        checks = None if found is None else {"acceptability": {"passed": found == "", "reason": str(found)}}
        models = [value for name, value in self.task.items() if name.endswith("nickname")]
        personas = data.get("personas")
        told = {name: data[name] for name in _CONTEXT if data.get(name) is not None}
        return {
            **study,
            "started": None if unit.started is None else iso_time(unit.started),
            "seconds": unit.seconds,
            "n_turns": len(self.exchanges),
            "complete": int(complete),
            "status": "complete" if complete else "partial",
            "n_turns_started": len(self.exchanges),
            "question": question,
            "models": ";".join(dict.fromkeys(map(str, models))),
            "persona": json_cell(personas[0]) if isinstance(personas, list) and personas else None,
            "context": json_cell(told) if told else None,
            "checks": None if checks is None else json_cell(checks),
            "checks_failed": ";".join(name for name, check in (checks or {}).items() if not check["passed"]),
            **copied(unit, "task_name", *MEPHISTO),
        }


_CONTEXT = ("personas", "context_dataset", "additional_context", "person1_seed_utterance", "person2_seed_utterance")
_IDS = ("workers", "bad_workers", "hit_ids", "assignment_ids")
KNOWN = {"dialog", "task_description", "acceptability_violations", *_IDS, *_CONTEXT}
"""Fields that either task saves of a chat."""


def _read_chat(unit: Unit, plan: ImportPlan) -> _Chat:
    """What both tasks save, checked as ParlAI's own analysis checks it. Raises UnreadableUnit."""
    where = unit.where
    dialog = required(unit.data, "dialog", list, where)
    task = required(unit.data, "task_description", dict, where)
    named = unit.data.get("workers")
    if isinstance(named, list) and len(named) > 1:
        raise UnreadableUnit(
            f"workers names {len(named)} workers, and only chats of one worker with a bot are read", where=where
        )
    name = named[0] if isinstance(named, list) and named and isinstance(named[0], str) else unit.worker
    if not name:
        raise UnreadableUnit(
            "workers is missing, so nobody knows who rated", where=where, try_="add the list with one name"
        )
    worker = plan.worker(name)
    lines = list(acts_of(dialog, where, UnreadableUnit))
    for act in lines:
        if (index := required(act.data, "agent_idx", int, act.where)) != act.speaker:
            turns = "the person (0) and the bot (1) speak in turn, the person first"
            raise UnreadableUnit(f"agent_idx is {index}, expected {act.speaker}: {turns}", where=act.where)
        optional(act.data, "text", str, act.where)
    said = [(human, bot) for human, bot in zip(lines[::2], lines[1::2], strict=False) if not bot.fixed]
    if not said:
        raise UnreadableUnit("dialog has no reply of a model", where=where)
    models = {name: value for name, value in task.items() if name.endswith("nickname")}
    key = (worker, models, dialog, unit.data.get("hit_ids"), unit.data.get("assignment_ids"))
    exchanges = tuple(_Exchange(turn, human, bot) for turn, (human, bot) in enumerate(said, start=1))
    return _Chat(unit, units.content_id("d", *key), worker, task, exchanges)


def _text(act: Act) -> str:
    return act.data.get("text") or ""


def _body(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """What was sent, without the envelope that earlier versions of Mephisto put around it."""
    inner = message.get("data")
    return inner if isinstance(inner, dict) and inner else message


def _time_between(shown: float | None, answered: float | None) -> float | None:
    """Seconds from one to the other; None where either is not known, or a clock went back."""
    return None if shown is None or answered is None or answered < shown else answered - shown


NONE, OTHER = "none_all_good", "other"
"""Buckets with a meaning of their own: nothing applies, and something that is written out."""
RATING = "final_rating"
FEWEST, MOST = RANGES["likert"]


def model_chat_rows(unit: Unit, plan: ImportPlan) -> Rows:
    """A row of ``turns`` for each reply, one of ``ratings`` for each rating at the end, and one of ``dialogues``. Ticks
    are in ``ticks``, the options in ``tick_choices``; ``none_all_good`` is ``none_said``. ``seconds`` of a
    turn end when the ticks arrive, which is with the worker's next message: writing it is part of them. Raises
    UnreadableUnit."""
    chat = _read_chat(unit, plan)
    model = required(chat.task, "model_nickname", str, f"{unit.where}, task_description")
    study = chat.study("single_model", plan.setting, plan.metric or "annotations")
    asked = [optional(exchange.bot.data, "problem_data", dict, exchange.bot.where) or {} for exchange in chat.exchanges]
    choices = [name for name in dict.fromkeys(name for buckets in asked for name in buckets) if name != NONE]
    times = _times(chat)
    replies = [_reply(exchange, choices, times.get(exchange.turn)) for exchange in chat.exchanges]
    ratings, rows = _ratings(chat, plan), Rows()
    shared = {**study, "model": model, "dialogue_status": "complete" if ratings else "partial"}
    for exchange, reply in zip(chat.exchanges, replies, strict=True):
        rows.add("turns", {**shared, **exchange.columns(unit.question), **reply})
    for name, (value, statement) in ratings.items():
        criterion = {"criterion": name, "value": value, "statement": statement, "degraded": 0, "reversed": 0}
        rows.add("ratings", {**shared, **criterion, "scale": "likert", "minimum": FEWEST, "maximum": MOST})
    rows.add("dialogues", chat.row(study, unit.question, complete=bool(ratings)))
    return rows


def _reply(exchange: _Exchange, choices: Sequence[str], seconds: float | None) -> Row:
    buckets: Mapping[str, Any] | None = exchange.bot.data.get("problem_data")
    where = f"{exchange.bot.where}.problem_data"
    said = {"text": _text(exchange.bot), "candidate_id": f"{exchange.turn}-1"}
    row: Row = {"position": 1, "selected": 0, "continued": 1, **said, "seconds": None}
    if buckets is None:  # this page asked for nothing, or not at this reply
        return row
    ticks = [name for name in choices if name in buckets and _ticked(buckets[name], name, where)]
    nothing = _ticked(buckets.get(NONE, False), NONE, where)
    return {
        **row,
        "seconds": seconds,
        "ticks": ";".join(ticks),
        "tick_choices": ";".join(choices),
        # ParlAI takes every bucket beside this one for a problem; some studies ask for what is good in its place.
        "tick_problems": ";".join(name for name in choices if is_problem(name, otherwise=NONE in buckets)),
        "none_said": int(nothing and not ticks),
        "reason": buckets[OTHER] if isinstance(buckets.get(OTHER), str) else None,
    }


def _ticked(value: Any, name: str, where: str) -> bool:
    if ";" in name:
        raise UnreadableUnit(
            f"the name {name!r} has a semicolon, which separates names in the table", where=where, try_="rename it"
        )
    if name == OTHER and isinstance(value, str):
        return bool(value.strip())
    if value is None or value in (0, 1):
        return bool(value)
    raise UnreadableUnit(f"{name} is {shown(value)}, expected true or false", where=where)


def _ratings(chat: _Chat, plan: ImportPlan) -> dict[str, tuple[float, str | None]]:
    """Criterion → rating and question; empty where the dialogue was not rated."""
    last = chat.exchanges[-1].bot
    given = last.data.get(RATING)
    if given is None:
        return {}
    values: list[float] = []
    for part in given.removeprefix("|").split("|") if isinstance(given, str) else [given]:
        try:
            value = math.nan if isinstance(part, bool) else float(part)
        except (TypeError, ValueError):
            value = math.nan
        if not FEWEST <= value <= MOST:
            raise UnreadableUnit(
                f"{RATING} is {shown(part)}, expected {FEWEST:g} to {MOST:g}, with | between several", where=last.where
            )
        values.append(value)
    count, questions = len(values), chat.unit.final_questions
    asked: Sequence[str | None] = questions if len(questions) == count else [None] * count
    unnamed = [RATING] if count == 1 else [f"{RATING}_{place}" for place in range(1, count + 1)]
    known = [
        units.RATINGS.get(plain_name(question or "")) or name for question, name in zip(asked, unnamed, strict=True)
    ]
    names = plan.criteria or known
    if len(names) != count:
        raise UnreadableUnit(
            f"{RATING} {given!r} holds {count} ratings, and {len(names)} names were given for them ({', '.join(names)})",
            where=last.where,
            try_="give as many names with --criteria",
        )
    return dict(zip(names, zip(values, asked, strict=True), strict=True))


def _times(chat: _Chat) -> dict[int, float]:
    """Turn → seconds from the reply shown to its ticks received, where the messages were kept."""
    times: dict[int, float] = {}
    shown_at: float | None = None
    turn = 0
    for message in chat.unit.messages:
        sent = _body(message)
        task_data = sent.get("task_data")
        if isinstance(task_data, dict) and "problem_data_for_prior_message" in task_data:
            seconds = _time_between(shown_at, units.seconds_of(message.get("timestamp")))
            if turn and seconds is not None:
                times[turn] = seconds
            shown_at = None
        elif turn < len(chat.exchanges) and sent.get("text") == _text(chat.exchanges[turn].bot) and sent.get("text"):
            turn, shown_at = turn + 1, units.seconds_of(message.get("timestamp"))
    return times


def per_turn_rows(unit: Unit, plan: ImportPlan) -> Rows:
    """Two rows of ``turns`` and one of ``comparisons`` for each turn, and one of ``dialogues``. ``position`` is 0 where
    the messages are not kept: the saved chat does not tell it. Raises UnreadableUnit."""
    chat = _read_chat(unit, plan)
    where = f"{unit.where}, task_description"
    first, second = (required(chat.task, f"model_{number}_nickname", str, where) for number in (1, 2))
    if first == second:
        raise UnreadableUnit(f"both models are named {first!r}, so neither can win", where=where, try_="rename one")
    # What the page asked travels with the first line, “Hi!”.
    told = unit.data["dialog"][0].get("task_data")
    question = unit.question
    if not question and isinstance(told, dict):
        question = optional(told, "prompt_instruction", str, unit.where)
    # Turn → who stood at the top, and when the replies were shown; and when one was chosen.
    tops: dict[int, tuple[str, float | None]] = {}
    answers: dict[int, float | None] = {}
    for message in unit.messages:
        task_data = _body(message).get("task_data")
        if not isinstance(task_data, dict):
            continue
        if isinstance(top := task_data.get("top_bot_data"), dict) and isinstance(name := top.get("top_bot_id"), str):
            tops[_turn(task_data, len(tops))] = name, units.seconds_of(message.get("timestamp"))
        elif "accepted_bot_id" in task_data:
            answers[_turn(task_data, len(answers))] = units.seconds_of(message.get("timestamp"))
    study = chat.study("pw_turn", plan.setting, plan.metric or units.metric_of(question))
    rows = Rows()
    for exchange in chat.exchanges:
        of_turn = {**study, **exchange.columns(question), "dialogue_status": "complete"}
        top_model, shown_at = tops.get(exchange.turn, (None, None))
        of_turn["seconds"] = _time_between(shown_at, answers.get(exchange.turn))
        pair = _chosen_and_other(of_turn, exchange, (first, second), top_model)
        for row in pair:
            rows.add("turns", row)
        a, b = sorted(pair, key=lambda row: str(row["model"]))
        same = ("worker_id", *STUDY, "seconds", "turn", "reason", "question", "dialogue_status")
        compared = {
            **comparison_cells(a["model"], b["model"], a["model"] if a["selected"] else b["model"]),
            **{name: a[name] for name in same},
            "item_id": f"{a['dialogue_id']}:{a['turn']}",
            "dialogue_a": a["dialogue_id"],
            "dialogue_b": a["dialogue_id"],
            "position_a": a["position"] or None,
        }
        rows.add("comparisons", compared)
    rows.add("dialogues", chat.row(study, question, complete=True))
    return rows


def _turn(task_data: Mapping[str, Any], before: int) -> int:
    """Pairs stand at even task_turn_idx, from 0."""
    index = task_data.get("task_turn_idx")
    return index // 2 + 1 if isinstance(index, int) and index >= 0 else before + 1


def _chosen_and_other(of_turn: Row, exchange: _Exchange, models: tuple[str, str], top: str | None) -> tuple[Row, Row]:
    where, data = exchange.bot.where, exchange.bot.data
    rows: list[Row] = []
    for name, flag in (("accepted_bot_data", 1), ("not_accepted_bot_data", 0)):
        candidate, inside = required(data, name, dict, where), f"{where}.{name}"
        model = required(candidate, "id", str, inside)
        if model not in models:
            raise UnreadableUnit(
                f"id is {model!r}, expected {models[0]!r} or {models[1]!r} of task_description", where=inside
            )
        said = {"text": required(candidate, "text", str, inside), "candidate_id": f"model_{models.index(model) + 1}"}
        place = 0 if top is None else 1 if model == top else 2
        rows.append({"model": model, **said, "position": place, "selected": flag, "continued": flag})
    chosen, other = rows
    choice = required(data, "human_choice", str, where)
    if choice != chosen["model"] or choice == other["model"]:
        raise UnreadableUnit(
            f"human_choice is {choice!r}, but accepted_bot_data is of {chosen['model']!r} and "
            f"not_accepted_bot_data of {other['model']!r}",
            where=where,
        )
    # Not failed, so that a place which is not known is not taken for a reply that was not shown.
    shared = {**of_turn, "reason": optional(data, "human_justification", str, where), "failed": 0}
    return {**shared, **chosen}, {**shared, **other}
