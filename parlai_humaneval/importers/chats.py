"""ParlAI's crowd tasks: two in which Human and Bot Speaker talk in turn, ``model_chat`` and ``pairwise_per_turn_eval``, and
one in which a person reads two finished dialogues and chooses a speaker, ``acute_eval`` (and ``fast_acute``).

Sources of the formats: ParlAI 1.7.2, ``crowdsourcing/tasks/model_chat`` (worlds.py, analysis/compile_results.py, and the
page, which sends the ratings of several questions as one text with ``|`` between, and one before the first), where a person
chats with one model, ticks what applies to each reply, and rates it at the end; and
``crowdsourcing/tasks/pairwise_per_turn_eval`` (the same files), where two models reply and a person chooses with which the
chat goes on: the PW-Turn of Smith et al. 2022, §3.1.2. The saved chat data has no positions; the messages of a
``state.json`` tell them (top is 1, bottom 2), and the time to each choice.

Reads files of ``crowdsourcing/tasks/acute_eval`` (acute_eval_runner.py, acute_eval_agent_state.py, analysis.py), the
PW-Dialog of Smith et al. 2022, §3.1.3, after Li et al. 2019: as in ParlAI's own analysis, pairs with a known answer
(``is_onboarding``) do not count as results, and neither does anything from workers who got one of them wrong.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from parlai_humaneval._util.table_files import plain_name
from parlai_humaneval.dialogues.chats import Act, acts_of
from parlai_humaneval.i18n.translate import worded
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
    """A saved dialogue; ``task``: its task_description. Openings given to both do not count as exchanges."""

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


def _unreadable(why: str, where: str, **facts: object) -> UnreadableUnit:
    return UnreadableUnit(worded(__file__, why, **facts), where=where)


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
        raise _unreadable("workers", where, number=len(named))
    name = named[0] if isinstance(named, list) and named and isinstance(named[0], str) else unit.worker
    if not name:
        raise _unreadable("nobody", where)
    worker = plan.worker(name)
    lines = list(acts_of(dialog, where, UnreadableUnit))
    for act in lines:
        if (index := required(act.data, "agent_idx", int, act.where)) != act.speaker:
            raise _unreadable("speaker", act.where, index=index, expected=act.speaker)
        optional(act.data, "text", str, act.where)
    said = [(human, bot) for human, bot in zip(lines[::2], lines[1::2], strict=False) if not bot.fixed]
    if not said:
        raise _unreadable("no_reply", where)
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
        # ParlAI treats every bucket except this one as a problem; in some studies the buckets are merits instead.
        "tick_problems": ";".join(name for name in choices if is_problem(name, otherwise=NONE in buckets)),
        "none_said": int(nothing and not ticks),
        "reason": buckets[OTHER] if isinstance(buckets.get(OTHER), str) else None,
    }


def _ticked(value: Any, name: str, where: str) -> bool:
    if ";" in name:
        raise _unreadable("semicolon", where, name=name)
    if name == OTHER and isinstance(value, str):
        return bool(value.strip())
    if value is None or value in (0, 1):
        return bool(value)
    raise _unreadable("flag", where, name=name, value=shown(value))


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
            raise _unreadable("rating", last.where, name=RATING, value=shown(part), fewest=FEWEST, most=MOST)
        values.append(value)
    count, questions = len(values), chat.unit.final_questions
    asked: Sequence[str | None] = questions if len(questions) == count else [None] * count
    unnamed = [RATING] if count == 1 else [f"{RATING}_{place}" for place in range(1, count + 1)]
    known = [
        units.RATINGS.get(plain_name(question or "")) or name for question, name in zip(asked, unnamed, strict=True)
    ]
    names = plan.criteria or known
    if len(names) != count:
        facts = {"name": RATING, "value": given, "count": count, "named": len(names), "names": ", ".join(names)}
        raise _unreadable("ratings", last.where, **facts)
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
        raise _unreadable("same_name", where, name=first)
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
    """Pairs have an even task_turn_idx, starting at 0."""
    index = task_data.get("task_turn_idx")
    return index // 2 + 1 if isinstance(index, int) and index >= 0 else before + 1


def _chosen_and_other(of_turn: Row, exchange: _Exchange, models: tuple[str, str], top: str | None) -> tuple[Row, Row]:
    where, data = exchange.bot.where, exchange.bot.data
    rows: list[Row] = []
    for name, flag in (("accepted_bot_data", 1), ("not_accepted_bot_data", 0)):
        candidate, inside = required(data, name, dict, where), f"{where}.{name}"
        model = required(candidate, "id", str, inside)
        if model not in models:
            raise _unreadable("id", inside, given=model, models=models)
        said = {"text": required(candidate, "text", str, inside), "candidate_id": f"model_{models.index(model) + 1}"}
        place = 0 if top is None else 1 if model == top else 2
        rows.append({"model": model, **said, "position": place, "selected": flag, "continued": flag})
    chosen, other = rows
    choice = required(data, "human_choice", str, where)
    if choice != chosen["model"] or choice == other["model"]:
        raise _unreadable("choice", where, choice=choice, chosen=chosen["model"], other=other["model"])
    # Not failed, so that a place which is not known is not taken for a reply that was not shown.
    shared = {**of_turn, "reason": optional(data, "human_justification", str, where), "failed": 0}
    return {**shared, **chosen}, {**shared, **other}


ONBOARDING = "pairs of the onboarding, whose answer is known"
NO_ANSWER = "pairs without an answer"
FAILED = "pairs of workers who failed the onboarding"


@dataclass(frozen=True)
class _Dialogue:
    """A dialogue whose ``speaker`` is judged. ``names``: the speakers, the first one first; numbered lines."""

    dialogue_id: str
    speaker: str
    names: tuple[str, ...]
    lines: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class _Pair:
    """A judged pair: its dialogues, whose judged speakers are two, and the answer; ``left``: the left one."""

    where: str
    data: Mapping[str, Any]
    dialogues: tuple[_Dialogue, _Dialogue]
    left: str | None
    question: str | None
    onboarding: bool
    choice: str
    right: str | None


def acute_rows(unit: Unit, plan: ImportPlan) -> Rows:
    """A row of ``comparisons`` and one of ``judgements`` for each judged pair; onboarding is in ``judgements`` only.
    Ids of dialogues and of pairs come from what was read, so that they are the same in all files. ``seconds`` is given
    where a unit held one pair: ParlAI keeps the time of the whole unit. Raises UnreadableUnit."""
    if not isinstance(unit.data, list):
        raise _unreadable("no_list", unit.where)
    if not unit.worker:
        raise _unreadable("no_worker", unit.where)
    worker = plan.worker(unit.worker)
    pairs = [_pair(entry, f"{unit.where}, pair {number}") for number, entry in enumerate(unit.data, start=1)]
    rows = Rows()
    for number, pair in enumerate(pairs, start=1):
        if not pair.choice:
            rows.left_out[NO_ANSWER] += 1
            continue
        judgement = _judgement(unit, plan, worker, pair, number, len(pairs))
        rows.add("judgements", judgement)
        if pair.onboarding:
            rows.left_out[ONBOARDING] += 1
            continue
        a, b = sorted(pair.dialogues, key=lambda dialogue: dialogue.speaker)
        side = None if pair.left is None else 1 if pair.left == a.speaker else 2
        openers = {dialogue.lines[0][1].strip().casefold() for dialogue in pair.dialogues}
        same = ("item_id", "worker_id", *STUDY, "judgement_id", "seconds", "reason", "question")
        comparison = {
            **{name: judgement[name] for name in same},
            **comparison_cells(a.speaker, b.speaker, pair.choice),
            "dialogue_a": a.dialogue_id,
            "dialogue_b": b.dialogue_id,
            "position_a": side,
            "side": side,
            "start": units.content_id("s", *openers) if len(openers) == 1 else None,
            "dialogue_status": "complete",
        }
        rows.add("comparisons", comparison)
    return rows


def without_failed(all_rows: Sequence[Rows]) -> None:
    """Take away, in place, the results of workers who got a pair of the onboarding wrong; they are counted."""
    failed = {
        row["worker_id"] for rows in all_rows for row in rows.tables.get("judgements", ()) if row["gold_passed"] == 0
    }
    for rows in all_rows:
        judged = rows.tables.get("comparisons", [])
        kept = [row for row in judged if row["worker_id"] not in failed]
        if len(kept) < len(judged):
            rows.left_out[FAILED] += len(judged) - len(kept)
            rows.tables["comparisons"] = kept
            rows.tables["judgements"] = [
                row for row in rows.tables["judgements"] if row["worker_id"] not in failed or row["gold"]
            ]


def _pair(entry: Any, where: str) -> _Pair:
    pairing = required(entry, "pairing_dict", dict, where)
    specs = required(entry, "task_specs", dict, where)
    inside = f"{where}, pairing_dict"
    speakers = required(pairing, "speakers_to_eval", list, inside)
    if len(speakers) != 2 or not all(isinstance(name, str) for name in speakers) or speakers[0] == speakers[1]:
        raise _unreadable("speakers", inside, speakers=speakers)
    choice = units.optional(entry, "speakerChoice", str, where) or ""
    if choice and choice not in speakers:
        raise _unreadable("speaker_choice", where, choice=choice, speakers=speakers)
    dialogues = required(pairing, "dialogue_dicts", list, inside)
    if len(dialogues) != 2:
        raise _unreadable("dialogues", inside, number=len(dialogues))
    left = specs.get("model_left")
    onboarding = bool(specs.get("is_onboarding") or pairing.get("is_onboarding"))
    return _Pair(
        where,
        entry,
        (_dialogue(dialogues[0], speakers[0], where, 0), _dialogue(dialogues[1], speakers[1], where, 1)),
        left.get("name") if isinstance(left, dict) else None,
        units.optional(specs, "question", str, f"{where}, task_specs"),
        onboarding,
        choice,
        required(pairing, "correct_answer", str, inside) if onboarding else None,
    )


def _dialogue(data: Any, speaker: str, where: str, place: int) -> _Dialogue:
    inside = f"{where}, dialogue_dicts[{place}]"
    lines = [(f"{inside}.dialogue[{n}]", line) for n, line in enumerate(required(data, "dialogue", list, inside))]
    # The speaker of a line; earlier versions of the task used another key.
    by = [
        required(line, "speaker" if isinstance(line, dict) and "id" not in line else "id", str, at)
        for at, line in lines
    ]
    names = tuple(dict.fromkeys(by))
    if speaker not in names:
        raise _unreadable("silent", inside, speaker=speaker, names=", ".join(names) or "none")
    said = (required(line, "text", str, at) for at, line in lines)
    texts = tuple((names.index(name), text) for name, text in zip(by, said, strict=True))
    return _Dialogue(units.content_id("d", speaker, names, texts), speaker, names, texts)


def _judgement(unit: Unit, plan: ImportPlan, worker: str, pair: _Pair, number: int, numbers: int) -> Row:
    metric = plan.metric or units.metric_of(pair.question)
    item = units.content_id("p", sorted(dialogue.dialogue_id for dialogue in pair.dialogues))
    first, second = pair.dialogues
    shown = (first, second) if pair.left in (None, first.speaker) else (second, first)
    answer = {"question_id": metric, "option": "first" if pair.choice == shown[0].speaker else "second"}
    cards = [
        {
            "dialogue_id": one.dialogue_id,
            "position": place,
            "entities": list(one.names),
            "judged": one.names.index(one.speaker),
            "lines": [{"speaker": speaker, "text": text} for speaker, text in one.lines],
        }
        for place, one in enumerate(shown, start=1)
    ]
    return {
        "judgement_id": units.content_id("j", worker, item, metric, pair.data.get("pair_id"), unit.unit_id),
        "item_id": f"gold:{item}" if pair.onboarding else item,
        "worker_id": worker,
        "technique": "pw_dialog",
        "setting": plan.setting,
        "metric": metric,
        "group": None if pair.onboarding else ";".join(sorted((first.speaker, second.speaker))),
        "dialogues": ";".join(dialogue.dialogue_id for dialogue in shown),
        "status": "complete",
        "seconds": unit.seconds if numbers == 1 else None,
        "gold": int(pair.onboarding),
        "gold_passed": int(pair.choice == pair.right) if pair.onboarding else None,
        "reason": units.optional(pair.data, "textReason", str, pair.where),
        "number": number,
        "numbers": numbers,
        "question": pair.question,
        "started": None if unit.started is None else iso_time(unit.started),
        "answers": None if pair.left is None else json.dumps([answer], ensure_ascii=False),
        "shown": json.dumps(cards, ensure_ascii=False),
        **copied(unit, "task_name", *MEPHISTO),
    }
