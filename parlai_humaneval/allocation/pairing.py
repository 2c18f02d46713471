"""Pairs of finished dialogues, one of each of two models, that are compared side by side (Smith et al. 2022, §3.1.3)."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Sequence
from typing import Literal

from parlai_humaneval._util.data_files import DataError
from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval.allocation.groups import Cell
from parlai_humaneval.allocation.item import Item
from parlai_humaneval.dialogues.dialogue import HUMAN, Dialogue

ALL_PAIRINGS = 5_000
"""Up to so many pairings of two models, all of them are items."""
SPARE = 4
"""Of more than that, so many times as many as are wanted: a worker who has met most dialogues should find some still."""

Judged = Literal["first", "second", "random"]


class NotEnough(HumanevalError, ValueError):
    """Fewer dialogues than are asked for; the message says how many judgements are possible, and what to do."""


def pair_items(
    dialogues: Sequence[Dialogue],
    groups: Sequence[tuple[str, str]],
    metric: str,
    setting: str,
    *,
    judged: Judged,
    wanted: int,
    seed: int,
) -> list[Item]:
    """Every pairing of a dialogue of one model with one of the other, each to be judged once at most.

    N dialogues of A and M of B make N × M pairings (Smith et al. 2022, App. C.7). Where these are more than
    ``ALL_PAIRINGS``, a part of them is taken in which each dialogue stands as often as any other of its model, or once
    more. Which part hangs on ``seed``; the ids of items do not.

    Args:
        dialogues: of all models; those of two different models, or of models in no group, are left aside.
        groups: pairs of models.
        metric: what is asked.
        setting: of the cells, such as human_bot.
        judged: which speaker of a self-chat is asked about; ``random``: drawn for each dialogue by ``seed``. With a person
            it is the model.
        wanted: judgements of each pair of models.
        seed: of what is drawn.

    Raises:
        NotEnough: fewer pairings than ``wanted``, or a model without dialogues.
        DataError: a dialogue of which it is not known who speaks, or without a model.
    """
    of_model = _by_model(dialogues)
    items: list[Item] = []
    for first, second in groups:
        pairs = _pairings(_of(of_model, first), _of(of_model, second), (first, second), wanted, seed)
        cell = Cell((first, second), metric, setting)
        items += [
            Item(
                f"{metric}:{' | '.join(sorted((one.dialogue_id, other.dialogue_id)))}",
                cell,
                (one.dialogue_id, other.dialogue_id),
                (judged_speaker(one, judged, seed), judged_speaker(other, judged, seed)),
            )
            for one, other in pairs
        ]
    return items


def dialogues_of_pairs(
    dialogues: Sequence[Dialogue], groups: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], tuple[int, int]]:
    """How many dialogues there are of the one model and of the other, for each pair of models.

    Raises:
        NotEnough, DataError: see :func:`pair_items`.
    """
    of_model = _by_model(dialogues)
    return {(one, other): (len(_of(of_model, one)), len(_of(of_model, other))) for one, other in groups}


def judged_speaker(dialogue: Dialogue, judged: Judged, seed: int) -> int:
    """Index of the speaker who is asked about, 0 for who speaks first."""
    entities = [dialogue.entities[speaker] for speaker in dialogue.speakers]
    if HUMAN in entities:
        return 1 - entities.index(HUMAN)
    if judged == "random":
        return _draw(seed, dialogue.dialogue_id) % 2
    return 0 if judged == "first" else 1


def _draw(seed: int, name: str) -> int:
    """The same for the same dialogue, whatever others there are."""
    return int.from_bytes(hashlib.sha256(f"{seed}\n{name}".encode()).digest()[:8], "big")


def _by_model(dialogues: Sequence[Dialogue]) -> dict[str, list[Dialogue]]:
    """Dialogues of one model, alone or with a person, by its name."""
    found: dict[str, list[Dialogue]] = {}
    for dialogue in dialogues:
        dialogue.known_entities()
        if not dialogue.models:
            raise DataError(
                f"dialogue {dialogue.dialogue_id} is between people, so there is no model to judge",
                where=dialogue.place,
                try_="leave it out",
            )
        if len(dialogue.models) == 1:
            found.setdefault(dialogue.models[0], []).append(dialogue)
    return found


def _of(of_model: dict[str, list[Dialogue]], model: str) -> list[Dialogue]:
    if model not in of_model:
        known = ", ".join(f"{name} ({len(found)})" for name, found in sorted(of_model.items())) or "no model"
        raise NotEnough(
            f"there is no dialogue of {model} alone or with a person, only dialogues of {known}",
            try_="name their files or tasks among the dialogues, or correct the model's name",
        )
    return of_model[model]


def _pairings(
    ours: list[Dialogue], theirs: list[Dialogue], models: tuple[str, str], wanted: int, seed: int
) -> list[tuple[Dialogue, Dialogue]]:
    possible = len(ours) * len(theirs)
    if wanted > possible:
        first, second = (f"{_count(len(found))} of {name}" for found, name in zip((ours, theirs), models, strict=True))
        raise NotEnough(
            f"{wanted} judgements of {' vs '.join(models)} are wanted, but only {possible} can be had: each "
            f"pairing of {first} with {second} is judged once at most",
            try_=f"ask for {possible} or fewer, or collect more dialogues",
        )
    if possible <= ALL_PAIRINGS:
        return [(one, other) for one in ours for other in theirs]
    return _balanced(ours, theirs, min(possible, max(ALL_PAIRINGS, SPARE * wanted)), f"pairs:{seed}:{models}")


def _count(number: int) -> str:
    return "one dialogue" if number == 1 else f"{number} dialogues"


def _balanced(
    ours: list[Dialogue], theirs: list[Dialogue], number: int, chance: str
) -> list[tuple[Dialogue, Dialogue]]:
    """``number`` different pairings; every dialogue stands in as many as any other of its model, or in one more.

    Both in random order, pairing n joins the n-th of one, counted round and round, with the n-th of the other. Every time
    that both counts come back to where they began (after their least common multiple), the other is shifted by one.
    """
    rng = random.Random(chance)
    ours, theirs = rng.sample(ours, len(ours)), rng.sample(theirs, len(theirs))
    pairs: list[tuple[Dialogue, Dialogue]] = []
    period = math.lcm(len(ours), len(theirs))
    for step in range(number):
        shift = step // period
        pairs.append((ours[step % len(ours)], theirs[(step + shift) % len(theirs)]))
    return pairs
