"""Synthetic records of every live technique but PW-Turn, for tests of the analysis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from make_records import QUESTION, START

from parlai_humaneval.schema.rebuild import points, ranks
from parlai_humaneval.schema.records import (
    Candidate,
    CriterionRecord,
    DialogueRecord,
    ModelRecord,
    Status,
    Turn,
)

TICKS = ("engaging", "humanlike", "interesting")
SLIDERS = ("interesting", "fun", "consistent", "fluent", "topic", "robotic", "repetitive")
REVERSED = ("robotic", "repetitive")


def make_choice(
    dialogue_id: str,
    picks: Sequence[Sequence[str]],
    *,
    models: Sequence[str] = ("a", "b"),
    worker: str = "w1",
    technique: str = "sata",
    setting: str = "sata_user",
    status: Status = "complete",
    started: float = START,
    shown: Sequence[Sequence[str]] | None = None,
) -> DialogueRecord:
    """A dialogue in which turn t chose the models of ``picks[t]``; with no pick the rater wrote the reply.

    ``shown``: the order of models in each turn; by default that of ``models``.
    """
    turns = []
    for number, picked in enumerate(picks, start=1):
        order = models if shown is None else shown[number - 1]
        turns.append(_turn(number, order, picked))
    record = _record(dialogue_id, models, worker, technique, turns, status, setting=setting, started_at=started)
    record.points = points(record)
    record.ranks = ranks(record.points)
    return record


def _turn(number: int, shown: Sequence[str], picked: Sequence[str]) -> Turn:
    at = START + 60 * number
    candidates = [
        Candidate(candidate_id=f"c{number}-{model}", model=model, text=f"reply of {model}", position=p, latency_s=0.1)
        for p, model in enumerate(shown, start=1)
    ]
    selected = [c.candidate_id for c in candidates if c.model in picked]
    return Turn(
        turn=number,
        human_text=f"message {number}",
        human_at=at,
        candidates=candidates,
        shown_at=at + 1,
        selected=selected,
        none_said=not selected,
        continued=selected[0] if selected else None,
        written=None if selected else "what I would say",
        answered_at=at + 9,
        seconds=8,
    )


def make_choices(
    rates: Mapping[str, float],
    *,
    workers: int = 12,
    turns: int = 10,
    setting: str = "sata_user",
    technique: str = "sata",
    one_pick: bool = False,
    seed: int = 0,
) -> list[DialogueRecord]:
    """A dialogue of each worker: a model is picked with its chance in ``rates``, or exactly one by these weights."""
    rng = np.random.default_rng(seed)
    names = list(rates)
    chances = np.array([rates[name] for name in names])
    records = []
    for worker in range(workers):
        picks, shown = [], []
        for _ in range(turns):
            shown.append([names[i] for i in rng.permutation(len(names))])
            if one_pick:
                picks.append([names[int(rng.choice(len(names), p=chances / chances.sum()))]])
            else:
                picks.append([name for name, chance in zip(names, chances, strict=True) if rng.random() < chance])
        records.append(
            make_choice(
                f"{setting}-{'-'.join(names)}-{worker}",
                picks,
                models=names,
                worker=f"w{worker}",
                technique=technique,
                setting=setting,
                started=START + 1000 * worker,
                shown=shown,
            )
        )
    return records


def make_ticked(
    dialogue_id: str,
    ticks: Sequence[Sequence[str]] = (("engaging",), ()),
    *,
    model: str = "a",
    worker: str = "w1",
    ratings: Mapping[str, float] | None = None,
    status: Status = "complete",
) -> DialogueRecord:
    """A single model's dialogue: what was ticked at each reply, then Likert ratings."""
    turns = []
    for number, ticked in enumerate(ticks, start=1):
        turn = _turn(number, [model], [])
        turn.selected, turn.written, turn.continued = [], None, turn.candidates[0].candidate_id
        turn.ticks, turn.none_said = list(ticked), not ticked
        turns.append(turn)
    record = _record(dialogue_id, [model], worker, "single_model", turns, status)
    record.turn_criteria = [CriterionRecord(name=name, text=f"Is it {name}?", scale="tick") for name in TICKS]
    given = {"engaging": 4.0} if ratings is None else dict(ratings)
    record.criteria = [
        CriterionRecord(name=name, text=f"How {name} was it?", scale="likert", minimum=1, maximum=5) for name in given
    ]
    record.final_ratings, record.final_seconds = given, 6.5
    return record


def make_verdict(
    dialogue_id: str,
    verdict: str,
    *,
    models: tuple[str, str] = ("m1", "m2"),
    worker: str = "w1",
    status: Status = "complete",
) -> DialogueRecord:
    """Two turns with two partners side by side, and a verdict; A is the first of ``models``."""
    turns = []
    for number in (1, 2):
        turn = _turn(number, models, [])
        turn.written, turn.none_said, turn.continued_each = None, False, True
        turns.append(turn)
    record = _record(dialogue_id, models, worker, "arena", turns, status)
    best = {"a": models[0], "b": models[1]}.get(verdict)
    return record.model_copy(update={"verdict": verdict, "verdict_model": best})


def make_rated(
    dialogue_id: str,
    model: str = "a",
    ratings: Mapping[str, float] | None = None,
    *,
    worker: str = "w1",
    degraded: str = "qc",
    session: str = "s1",
    status: Status = "complete",
) -> DialogueRecord:
    """One conversation of a direct assessment, with slider ratings as given (not reversed)."""
    given = dict.fromkeys(SLIDERS, 50.0) if ratings is None else dict(ratings)
    turn = _turn(1, [model], [])
    turn.written, turn.none_said, turn.continued_each = None, False, False
    turn.continued = turn.candidates[0].candidate_id
    record = _record(dialogue_id, [model], worker, "direct_assessment", [turn], status, setting="free", session=session)
    record.conversations, record.quality_control_model, record.final_seconds = 6, degraded, 30.0
    record.criteria = [
        CriterionRecord(
            name=name, text=f"It was {name}.", scale="slider", minimum=0, maximum=100, reversed=name in REVERSED
        )
        for name in given
    ]
    record.final_ratings = given
    return record


def make_assessment(quality: Mapping[str, float], *, workers: int = 12, seed: int = 0) -> list[DialogueRecord]:
    """Every worker rates every model once, around its ``quality`` (0–100, more is better); the last is degraded."""
    rng = np.random.default_rng(seed)
    degraded = list(quality)[-1]
    records = []
    for worker in range(workers):
        shift = rng.normal(0, 8)
        for model, level in quality.items():
            scores = np.clip(rng.normal(level + shift, 10, len(SLIDERS)), 0, 100)
            ratings = {
                name: round(float(100 - score if name in REVERSED else score), 1)
                for name, score in zip(SLIDERS, scores, strict=True)
            }
            records.append(
                make_rated(
                    f"{worker}-{model}", model, ratings, worker=f"w{worker}", degraded=degraded, session=f"s{worker}"
                )
            )
    return records


def _record(
    dialogue_id: str,
    models: Sequence[str],
    worker: str,
    technique: str,
    turns: list[Turn],
    status: Status,
    *,
    setting: str = "",
    session: str = "",
    started_at: float = START,
) -> DialogueRecord:
    return DialogueRecord(
        dialogue_id=dialogue_id,
        task_name=f"{technique}-demo",
        worker=worker,
        technique=technique,
        setting=setting,
        metric="preference",
        question=QUESTION,
        models=[ModelRecord(name=name) for name in models],
        seed=1,
        session=session,
        turns=turns,
        ended_by_rater=True,
        status=status,
        started_at=started_at,
        finished_at=started_at + 300 if status == "complete" else None,
    )
