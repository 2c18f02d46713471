"""What a check says, and the errors of naming checks wrongly."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, field_validator

from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval.schema.records import DialogueRecord, JudgementRecord

Scope = Literal["dialogue", "worker"]
Judged = TypeVar("Judged")


class CheckError(HumanevalError, ValueError):
    """A check that does not exist, or settings of checks that cannot be used; the message lists what there is."""


class Finding(NamedTuple):
    """What the function of a check returns.

    ``passed`` None: it cannot be judged (too few messages, say). ``reason`` is a sentence. ``value``: the number that
    was compared with a threshold, where there is one.
    """

    passed: bool | None
    reason: str
    value: float | None = None


class Verdict(BaseModel, extra="forbid", frozen=True):
    """A finding under the name of its check, as it is stored and reported. ``value`` is never nan or infinite."""

    check: str
    passed: bool | None
    reason: str
    value: float | None = None

    @field_validator("value")
    @classmethod
    def _finite(cls, value: float | None) -> float | None:
        return value if value is not None and math.isfinite(value) else None


@dataclass(frozen=True)
class _Check(Generic[Judged]):
    name: str
    source: str
    description: str
    function: Callable[[Judged], Finding]
    scope: Scope = "worker"

    def judge(self, judged: Judged) -> Verdict:
        finding = self.function(judged)
        return Verdict(check=self.name, passed=finding.passed, reason=finding.reason, value=finding.value)


@dataclass(frozen=True)
class DialogueCheck(_Check[DialogueRecord]):
    """Judges one live dialogue."""

    scope: Scope = "dialogue"


class WorkerCheck(_Check[Sequence[DialogueRecord]]):
    """Judges a worker by all of their live dialogues together."""


class JudgementCheck(_Check[Sequence[JudgementRecord]]):
    """Judges a worker by all of their judgements of finished dialogues together."""


Check = DialogueCheck | WorkerCheck | JudgementCheck
