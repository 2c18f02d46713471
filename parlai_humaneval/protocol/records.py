"""The versioned record of one rated dialogue: what was shown, answered and continued.

A record is rebuilt from the events that a live task wrote as they happened, so that a
dialogue cut off in turn 4 still holds three complete turns (``status="partial"``).
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA_VERSION = 1


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Mask(_Record):
    """A span that named a model or its maker and was replaced before showing. Offsets are into ``raw_text``."""

    start: int
    end: int
    original: str
    replacement: str


class Candidate(_Record):
    """One reply that was shown. ``position`` counts from 1 in shown order; ``latency_s`` in seconds.

    ``raw_text`` is the model's own text where masking changed it, else None.
    """

    candidate_id: str
    model: str
    text: str
    position: int
    latency_s: float
    raw_text: str | None = None
    masks: list[Mask] = Field(default_factory=list)


class ModelRecord(_Record):
    """A model as it took part: its name, ParlAI options, and where it came from."""

    name: str
    options: dict[str, Any] = Field(default_factory=dict)
    description: str = ""
    source: str = ""


class Turn(_Record):
    """One exchange, ``turn`` from 1. Times are seconds since the epoch; ``seconds`` is shown → answered."""

    turn: int
    human_text: str
    human_fixed: bool = False
    human_at: float
    candidates: list[Candidate] = Field(default_factory=list)
    shown_at: float | None = None
    selected: list[str] = Field(default_factory=list)
    continued: str | None = None
    written: str | None = None
    reason: str | None = None
    answered_at: float | None = None
    seconds: float | None = None

    @property
    def complete(self) -> bool:
        """True when the rater answered this turn and something continued."""
        return self.answered_at is not None and (self.continued is not None or self.written is not None)


class ContextRecord(_Record):
    persona: list[str] = Field(default_factory=list)
    topic: str | None = None


class OnboardingRecord(_Record):
    """How the worker did in practice: tries begun, and the choices (good or bad) of each; passed None: not ended."""

    passed: bool | None
    tries: int
    choices: list[list[str]] = Field(default_factory=list)


Status = Literal["running", "complete", "partial", "failed"]


class DialogueRecord(_Record):
    """One unit of a live technique.

    ``status``: running (its launch is alive), complete, partial (left or cut off), failed (a model or the server did).
    ``interrupted``: cut off by the end of its launch, not by its rater.
    """

    schema_version: int = SCHEMA_VERSION
    dialogue_id: str
    task_name: str = ""
    task_run_id: str = ""
    assignment_id: str = ""
    unit_id: str = ""
    worker: str = ""
    technique: str
    setting: str = ""
    settings: dict[str, Any] = Field(default_factory=dict)
    metric: str
    question: str
    models: list[ModelRecord]
    context: ContextRecord = Field(default_factory=ContextRecord)
    seed: int
    turns: list[Turn] = Field(default_factory=list)
    final_ratings: dict[str, Any] = Field(default_factory=dict)
    feedback: str | None = None
    checks: dict[str, Any] = Field(default_factory=dict)
    status: Status
    failure: str | None = None
    started_at: float
    finished_at: float | None = None
    refused_answers: int = 0
    interrupted: bool = False

    @property
    def complete_turns(self) -> list[Turn]:
        return [turn for turn in self.turns if turn.complete]
