"""What a chat-completions server answers, whole or as a stream, read with no trust in it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

LONGEST = 1_000_000
"""Characters after which a stream is given up: a server that repeats itself must not fill the memory."""

_THINKING = re.compile(r"<(think|thinking)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_END_OF_THINKING = re.compile(r"\A.*</(?:think|thinking)>", re.DOTALL | re.IGNORECASE)


class BrokenOff(ValueError):
    """A stream ended before its reply did, or did not end at all."""


class _Read(BaseModel):
    """Servers add fields of their own; only those that are read must be right."""

    model_config = ConfigDict(extra="ignore", from_attributes=True)


class _Words(_Read):
    """``message`` of a choice, or the ``delta`` of one in a stream. Some servers send ``content`` in parts."""

    content: str | list[dict[str, Any]] | None = None
    refusal: str | None = None

    def text(self) -> str:
        if isinstance(self.content, list):
            return "".join(str(part.get("text") or "") for part in self.content if part.get("type") == "text")
        return self.content or ""


class Usage(_Read):
    """Tokens of the request and of the reply, reasoning included."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Choice(_Read):
    index: int | None = None
    finish_reason: str | None = None


class _WholeChoice(_Choice):
    message: _Words


class _PieceChoice(_Choice):
    delta: _Words = _Words()


class _Whole(_Read):
    model: str | None = None
    usage: Usage | None = None
    choices: list[_WholeChoice] = Field(min_length=1)


class _Piece(_Read):
    model: str | None = None
    usage: Usage | None = None
    choices: list[_PieceChoice] = Field(default_factory=list)


class ChatReply(BaseModel):
    """A reply: the first choice's words, or its refusal where it has none; empty where there is neither (a tool call)."""

    model_config = ConfigDict(frozen=True)

    text: str
    finish_reason: str | None = None
    model: str | None = None
    usage: Usage = Usage()


def read_whole(body: bytes) -> ChatReply:
    """A response that came at once.

    Raises:
        ValueError: for a body that is no chat completion: no JSON, another schema, or no choice.
    """
    whole = _Whole.model_validate_json(body)
    choice = min(whole.choices, key=lambda choice: choice.index or 0)
    return ChatReply(
        text=choice.message.text() or choice.message.refusal or "",
        finish_reason=choice.finish_reason,
        model=whole.model,
        usage=whole.usage or Usage(),
    )


def read_stream(pieces: Iterable[Any]) -> ChatReply:
    """A response that comes piece by piece, each a mapping or an object of the client's; returns when all are there.

    Raises:
        ValueError: for a piece of another schema.
        BrokenOff: where the stream ended without a reason, or goes on beyond :data:`LONGEST` characters.
    """
    texts: list[str] = []
    refusals: list[str] = []
    length, finish_reason, model, usage = 0, None, None, Usage()
    for data in pieces:
        piece = _Piece.model_validate(data)
        model, usage = piece.model or model, piece.usage or usage
        for choice in piece.choices:
            if choice.index:
                continue
            finish_reason = choice.finish_reason or finish_reason
            texts.append(choice.delta.text())
            refusals.append(choice.delta.refusal or "")
            length += len(texts[-1]) + len(refusals[-1])
        if length > LONGEST:
            raise BrokenOff(f"its reply is longer than {LONGEST} characters and has no end")
    if finish_reason is None:
        raise BrokenOff(f"its stream broke off after {length} characters")
    text = "".join(texts) or "".join(refusals)
    return ChatReply(text=text, finish_reason=finish_reason, model=model, usage=usage)


def without_thinking(text: str) -> str:
    """The reply of a reasoning model without the ``<think>…</think>`` that some servers leave in it.

    A block that does not end was cut: all of it was thinking. One that does not begin was begun by the chat template.
    """
    return _END_OF_THINKING.sub("", _THINKING.sub("", text)).strip()
