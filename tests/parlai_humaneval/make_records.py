"""Synthetic records of rated PW-Turn dialogues, for tests of the analysis."""

from __future__ import annotations

import numpy as np

from parlai_humaneval.schema.records import Candidate, DialogueRecord, ModelRecord, Status, Turn

QUESTION = "Who would you prefer to talk to for a long conversation?"
START = 1_700_000_000.0


def make_turn(
    number: int,
    shown: tuple[str, str],
    winner: str | None,
    seconds: float = 12.5,
    reason: str = "it answers my question",
) -> Turn:
    """A turn in which the models of ``shown`` stood in that order; ``winner`` None: not answered."""
    at = START + 60 * number
    candidates = [
        Candidate(
            candidate_id=f"c{number}-{position}",
            model=model,
            text=f"I am reply {number} of a model",
            position=position,
            latency_s=0.2,
        )
        for position, model in enumerate(shown, start=1)
    ]
    chosen = None if winner is None else candidates[shown.index(winner)].candidate_id
    return Turn(
        turn=number,
        human_text="Hi!" if number == 1 else f"message {number}",
        human_fixed=number == 1,
        human_at=at,
        candidates=candidates,
        shown_at=at + 1,
        selected=[] if chosen is None else [chosen],
        continued=chosen,
        reason=None if chosen is None else reason,
        answered_at=None if chosen is None else at + 1 + seconds,
        seconds=None if chosen is None else seconds,
    )


def make_record(
    dialogue_id: str,
    turns: list[Turn],
    *,
    worker: str = "w1",
    models: tuple[str, str] = ("eliza", "retrieval"),
    metric: str = "preference",
    status: Status = "complete",
) -> DialogueRecord:
    """A record around ``turns``; it ended 400 s after its start unless its status says otherwise."""
    return DialogueRecord(
        dialogue_id=dialogue_id,
        task_name="pw-demo",
        task_run_id="7",
        assignment_id=f"a-{dialogue_id}",
        worker=worker,
        technique="pw_turn",
        settings={"turns": 6},
        metric=metric,
        question=QUESTION,
        models=[ModelRecord(name=name, options={"beam_size": 10}) for name in models],
        seed=2**80 + 3,
        turns=turns,
        status=status,
        started_at=START,
        finished_at=START + 400 if status == "complete" else None,
    )


def make_study(
    n_workers: int = 8,
    dialogues_each: int = 2,
    *,
    models: tuple[str, str] = ("eliza", "retrieval"),
    metric: str = "preference",
    strength: float = 0.75,
    first_bias: float = 0.0,
    seed: int = 0,
) -> list[DialogueRecord]:
    """The second model is chosen with chance ``strength``; where it stands first, ``first_bias`` more."""
    rng = np.random.default_rng(seed)
    records = []
    for worker in range(n_workers):
        for number in range(dialogues_each):
            turns = []
            for turn in range(1, 7):
                shown = models if rng.random() < 0.5 else (models[1], models[0])
                chance = strength + (first_bias if shown[0] == models[1] else -first_bias)
                winner = models[1] if rng.random() < chance else models[0]
                turns.append(make_turn(turn, shown, winner, seconds=float(rng.uniform(5, 30))))
            records.append(
                make_record(
                    f"{metric}-{models[0]}-{worker}-{number}",
                    turns,
                    worker=f"w{worker}",
                    models=models,
                    metric=metric,
                )
            )
    return records
