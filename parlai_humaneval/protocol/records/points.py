"""Points and ranks of the models of one dialogue (Ma et al. 2023, §2: a reply that is picked is a point)."""

from __future__ import annotations

from collections.abc import Mapping

from parlai_humaneval.protocol.records.dialogue import DialogueRecord


def points(record: DialogueRecord) -> dict[str, int]:
    """Model → turns in which its reply was picked; empty where replies are not chosen from several.

    A turn without an answer is nobody's point, and so is one in which nothing was asked. Where equal replies of two
    models were shown as one, picking it is a point for both.
    """
    names = list(dict.fromkeys(model.name for model in record.models))
    chosen_from = record.turns and all(turn.ticks is None and not turn.continued_each for turn in record.turns)
    if len(names) < 2 or not chosen_from:
        return {}
    won = dict.fromkeys(names, 0)
    for turn in (turn for turn in record.complete_turns if not turn.automatic):
        for candidate in turn.candidates:
            won[candidate.model] += candidate.candidate_id in turn.selected
    return won


def ranks(won: Mapping[str, int]) -> dict[str, int]:
    """Points → competition ranks: 1 has the most, equal points share the better rank."""
    return {model: 1 + sum(other > own for other in won.values()) for model, own in won.items()}
