"""ParlAI's ``acute_eval`` (and ``fast_acute``): a person reads two finished dialogues and chooses a speaker.

Source of the format: ParlAI 1.7.2, ``crowdsourcing/tasks/acute_eval`` (acute_eval_runner.py, acute_eval_agent_state.py,
analysis.py) — the PW-Dialog of Smith et al. 2022, §3.1.3, after Li et al. 2019. As in ParlAI's own analysis, pairs with a
known answer (``is_onboarding``) are no results, and neither is what workers did who got one of them wrong.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from parlai_humaneval.importers import units
from parlai_humaneval.importers.units import ImportPlan, Rows, Unit, UnreadableUnit, required
from parlai_humaneval.tables.build_dialogues import MEPHISTO, comparison_cells, copied
from parlai_humaneval.tables.columns import Row, iso_time
from parlai_humaneval.tables.schema import STUDY

ONBOARDING = "pairs of the onboarding, whose answer is known"
NO_ANSWER = "pairs without an answer"
FAILED = "pairs of workers who failed the onboarding"


@dataclass(frozen=True)
class _Dialogue:
    """A dialogue of which ``speaker`` is judged; ``names``: who speaks, the first first; lines with places in it."""

    dialogue_id: str
    speaker: str
    names: tuple[str, ...]
    lines: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class _Pair:
    """A judged pair: its dialogues, whose judged speakers are two, and the answer; ``left``: who stood on the left."""

    where: str
    data: Mapping[str, Any]
    dialogues: tuple[_Dialogue, _Dialogue]
    left: str | None
    question: str | None
    onboarding: bool
    choice: str
    right: str | None


def rows_of(unit: Unit, plan: ImportPlan) -> Rows:
    """A row of ``comparisons`` and one of ``judgements`` for each judged pair; onboarding is in ``judgements`` only.
    Ids of dialogues and of pairs come from what was read, so that they are the same in all files. ``seconds`` is given
    where a unit held one pair: ParlAI keeps the time of the whole unit. Raises UnreadableUnit."""
    if not isinstance(unit.data, list):
        what = "expected the list of judged pairs of an ACUTE-Eval unit"
        raise UnreadableUnit(what, where=unit.where, try_="--from acute_pairs reads files with a pair in each line")
    if not unit.worker:
        raise UnreadableUnit(
            "nothing shows who judged: an agent_data.json does not",
            where=unit.where,
            try_="import the Mephisto data directory (--from mephisto), or what DataBrowser.get_data_from_unit gives",
        )
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
        raise UnreadableUnit(f"{inside}: speakers_to_eval is {speakers!r}, expected two different names")
    choice = units.optional(entry, "speakerChoice", str, where) or ""
    if choice and choice not in speakers:
        raise UnreadableUnit(f"speakerChoice is {choice!r}, expected {speakers[0]!r} or {speakers[1]!r}", where=where)
    dialogues = required(pairing, "dialogue_dicts", list, inside)
    if len(dialogues) != 2:
        raise UnreadableUnit(f"{inside}: dialogue_dicts holds {len(dialogues)}, expected two dialogues")
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
    # Who said a line; earlier versions of the task had another name for it.
    by = [
        required(line, "speaker" if isinstance(line, dict) and "id" not in line else "id", str, at)
        for at, line in lines
    ]
    names = tuple(dict.fromkeys(by))
    if speaker not in names:
        raise UnreadableUnit(
            f"{speaker!r}, who is judged, says nothing (speakers: {', '.join(names) or 'none'})", where=inside
        )
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
