"""A rater's ``state.json``, checked as it is read."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from parlai_humaneval.protocol.records.events import Event


class _Outputs(BaseModel):
    model_config = ConfigDict(extra="ignore")
    messages: list[Event]


class StateFile(BaseModel):
    """The parts of the file that records are made of: the plan of the unit, and the events, in order."""

    model_config = ConfigDict(extra="ignore")
    inputs: dict[str, Any] | None = None
    outputs: _Outputs
