"""Finished dialogues for tests."""

from __future__ import annotations

from collections.abc import Sequence

from parlai_humaneval.dialogues.dialogue import HUMAN, Dialogue, SaidLine


def talk(dialogue_id: str, entities: Sequence[str], exchanges: int = 3) -> Dialogue:
    """A dialogue of two speakers, the first of ``entities`` first; an empty name is not known."""
    lines = tuple(SaidLine(f"s{side}", f"{dialogue_id} {n} {side}") for n in range(exchanges) for side in (1, 2))
    known = {f"s{side}": name for side, name in enumerate(entities, start=1) if name}
    return Dialogue(dialogue_id, lines, (), 7, entities=known, source="talks.jsonl")


def with_person(model: str, count: int) -> list[Dialogue]:
    return [talk(f"{model}-{n}", (HUMAN, model)) for n in range(count)]
