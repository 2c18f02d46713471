"""What a key–value memory network remembers: dialogues of its training set, and what was said next in each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

Encoder = Callable[[torch.Tensor], torch.Tensor]
"""From ``(rows, words)`` token indices to ``(rows, width)`` vectors."""
CHUNK = 512
"""Rows that are encoded at once."""


class ReplyMemory:
    """Pairs of a key (tokens of a dialogue so far) and a value (the reply to it), each pair once.

    It is filled while a model is trained and travels in the model's file. All clones of an agent share one.

    Args:
        limit: most pairs that are kept; what comes later is not remembered.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.keys: list[list[int]] = []
        self.replies: list[str] = []
        self.reply_tokens: list[list[int]] = []
        self._known: set[tuple[tuple[int, ...], str]] = set()
        self._encoded: tuple[torch.Tensor, torch.Tensor] | None = None

    def __len__(self) -> int:
        return len(self.replies)

    def add(self, key: Sequence[int], reply: str, reply_tokens: Sequence[int]) -> None:
        """Remember a pair, unless it is known or the memory is full."""
        known = (tuple(key), reply)
        if len(self) >= self.limit or not key or not reply_tokens or known in self._known:
            return
        self._known.add(known)
        self.keys.append(list(key))
        self.replies.append(reply)
        self.reply_tokens.append(list(reply_tokens))
        self.forget_vectors()

    def candidates(self) -> list[str]:
        """Every reply once, in the order in which they were met.

        Of replies with the same words in another order only the first: a bag of words cannot tell them apart, and the
        rounding of the last digit, which differs from batch to batch, would choose between them.
        """
        bags: dict[tuple[int, ...], str] = {}
        for reply, tokens in zip(self.replies, self.reply_tokens, strict=True):
            bags.setdefault(tuple(sorted(tokens)), reply)
        return list(bags.values())

    def forget_vectors(self) -> None:
        """The weights have changed."""
        self._encoded = None

    def vectors(
        self, hear: Encoder, say: Encoder, padding: int, like: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys and values, each ``(pairs, width)``, on the device of ``like``; kept until the weights change."""
        if self._encoded is None:
            self._encoded = (
                encoded(self.keys, hear, padding, like.device),
                encoded(self.reply_tokens, say, padding, like.device),
            )
        return self._encoded

    def state(self) -> dict[str, Any]:
        """What is saved with the model: flat tensors, as a hundred thousand small lists take long to read."""
        return {"replies": self.replies, "keys": _flat(self.keys), "reply_tokens": _flat(self.reply_tokens)}

    @classmethod
    def from_state(cls, state: dict[str, Any], limit: int) -> ReplyMemory:
        """The memory that :meth:`state` has described."""
        memory = cls(limit)
        memory.replies = list(state["replies"])
        memory.keys, memory.reply_tokens = _lists(*state["keys"]), _lists(*state["reply_tokens"])
        memory._known = {(tuple(key), reply) for key, reply in zip(memory.keys, memory.replies, strict=True)}
        return memory


def padded(rows: Sequence[Sequence[int]], padding: int) -> torch.Tensor:
    """Token indices as a matrix, ``(rows, longest)``; at least one column wide."""
    width = max([1, *map(len, rows)])
    return torch.tensor([[*row, *[padding] * (width - len(row))] for row in rows], dtype=torch.long)


def encoded(rows: Sequence[Sequence[int]], encoder: Encoder, padding: int, device: torch.device) -> torch.Tensor:
    """Vectors of any number of token lists, some at a time."""
    starts = range(0, len(rows), CHUNK)
    with torch.no_grad():
        return torch.cat([encoder(padded(rows[start : start + CHUNK], padding).to(device)) for start in starts])


def _flat(rows: Iterable[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    rows = list(rows)
    tokens = [token for row in rows for token in row]
    return torch.tensor(tokens, dtype=torch.int32), torch.tensor([len(row) for row in rows], dtype=torch.int32)


def _lists(tokens: torch.Tensor, lengths: torch.Tensor) -> list[list[int]]:
    return [part.tolist() for part in tokens.split(lengths.tolist())] if len(lengths) else []
