"""Records of live dialogues for tests: of every way in which a turn goes on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parlai_humaneval.schema.records import Candidate, DialogueRecord, ModelRecord, Turn


def live_turn(number: int, models: Sequence[str], goes_on: str, **more: Any) -> Turn:
    """``goes_on``: the model whose reply continues; ``each``; or the words that the rater wrote instead."""
    candidates = [
        Candidate(
            candidate_id=f"{number}-{model}", model=model, text=f"{model} says {number}", position=n, latency_s=0.1
        )
        for n, model in enumerate(models, start=1)
    ]
    own = goes_on in models
    answered: dict[str, Any] = {
        "continued": f"{number}-{goes_on}" if own else None,
        "continued_each": goes_on == "each",
        "written": None if own or goes_on == "each" else goes_on,
        "answered_at": 3.0,
    }
    return Turn(
        turn=number, human_text=f"person says {number}", human_at=1.0, candidates=candidates, **{**answered, **more}
    )


def live_record(
    dialogue_id: str, turns: Sequence[Turn], models: Sequence[str] = ("a", "b"), **more: Any
) -> DialogueRecord:
    common: dict[str, Any] = {
        "task_name": "chats",
        "worker": "p1",
        "technique": "pw_turn",
        "setting": "s",
        "settings": {"turns": 6},
        "metric": "preference",
        "question": "Which is better?",
        "seed": 1,
        "status": "complete",
        "started_at": 0.0,
    }
    return DialogueRecord(
        dialogue_id=dialogue_id,
        models=[ModelRecord(name=name) for name in models],
        turns=list(turns),
        **{**common, **more},
    )
