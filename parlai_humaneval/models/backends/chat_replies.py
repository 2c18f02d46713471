"""What a chat-completions server answers, whole or as a stream, read with no trust in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

LONGEST = 1_000_000
"""Characters after which a stream is given up: a server that repeats itself must not fill the memory."""


class BrokenOff(ValueError):
    """A stream ended before its reply did, or did not end at all."""


class _Read(BaseModel):
    """Servers add fields of their own; only those that are read must be right."""

    model_config = ConfigDict(extra="ignore", from_attributes=True)


class _Words(_Read):
    """``message`` of a choice, or the ``delta`` of one in a stream. Some servers send ``content`` in parts, and some what
    the model thought before it: under two names, or as a part."""

    content: str | list[dict[str, Any]] | None = None
    refusal: str | None = None
    reasoning_content: Any = None
    reasoning: Any = None

    def text(self) -> str:
        if isinstance(self.content, list):
            return "".join(str(part.get("text") or "") for part in self.content if part.get("type") == "text")
        return self.content or ""

    def thoughts(self) -> str:
        told = next((said for said in (self.reasoning_content, self.reasoning) if isinstance(said, str)), "")
        parts = self.content if isinstance(self.content, list) else []
        return told or "".join(_flat_text(part.get("thinking")) for part in parts if part.get("type") == "thinking")


def _flat_text(said: Any) -> str:
    if isinstance(said, list):
        return "".join(str(part.get("text") or "") for part in said if isinstance(part, dict))
    return said if isinstance(said, str) else ""


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
    """A reply: the first choice's words, or its refusal where it has none; empty where there is neither (a tool call).

    ``thoughts``: what the server tells apart from them as such.
    """

    model_config = ConfigDict(frozen=True)

    text: str
    thoughts: str = ""
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
        thoughts=choice.message.thoughts(),
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
    thoughts: list[str] = []
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
            thoughts.append(choice.delta.thoughts())
            length += len(texts[-1]) + len(refusals[-1]) + len(thoughts[-1])
        if length > LONGEST:
            raise BrokenOff(f"its reply is longer than {LONGEST} characters and has no end")
    if finish_reason is None:
        raise BrokenOff(f"its stream broke off after {length} characters")
    text = "".join(texts) or "".join(refusals)
    return ChatReply(text=text, thoughts="".join(thoughts), finish_reason=finish_reason, model=model, usage=usage)
