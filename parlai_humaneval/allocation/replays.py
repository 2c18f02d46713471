"""Finished dialogues for somebody who took no part in them: turn by turn as they were rated, one turn, or as a whole.

Sources: Liu et al. 2023, “Data Cleaning” (agreement of third parties, on a random sample of conversations); Ma et al. 2023
(ranking all replies to one context, and rating whole dialogues on scales).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import groupby
from typing import TypeVar

from parlai_humaneval._util.data_files import DataError
from parlai_humaneval.allocation.groups import Cell
from parlai_humaneval.allocation.item import Item
from parlai_humaneval.allocation.pairing import NotEnough
from parlai_humaneval.dialogues.dialogue import HUMAN, Dialogue
from parlai_humaneval.schema.records import ReplayedRating, Turn

RANK = "rank"
"""Metric of rankings."""

T = TypeVar("T")


def replay_items(dialogues: Sequence[Dialogue], per_item: int, *, sample: int | None, seed: int) -> list[Item]:
    """A whole rated dialogue is an item; two that stood side by side are one.

    Args:
        dialogues: with their ratings.
        per_item: judgements of each.
        sample: how many to draw at random; None: all.
        seed: of the draw.

    Raises:
        NotEnough: fewer rated dialogues than the sample, or none.
        DataError: a dialogue that was not rated.
    """
    together = [list(group) for _, group in groupby(dialogues, key=lambda one: id(_rating(one)))]
    return [
        Item(
            f"replay:{' | '.join(one.dialogue_id for one in group)}",
            Cell(_models(group[0]), _rating(group[0]).metric, _rating(group[0]).setting),
            tuple(one.dialogue_id for one in group),
            (None,) * len(group),
            wanted=per_item,
        )
        for group in _sampled(together, sample, seed, "rated dialogues")
    ]


def turn_items(dialogues: Sequence[Dialogue], per_item: int, *, sample: int | None, seed: int) -> list[Item]:
    """Each complete turn of which two or more different replies were shown is an item: all its replies are ranked.

    ``sample`` counts dialogues; arguments and errors are those of :func:`replay_items`.
    """
    ranked = [(one, turns) for one in dialogues if (turns := _several_replies(one))]
    return [
        Item(
            f"{RANK}:{dialogue.dialogue_id}:{turn.turn}",
            Cell(_models(dialogue), RANK, _rating(dialogue).setting),
            (dialogue.dialogue_id,),
            turn=turn.turn,
            wanted=per_item,
        )
        for dialogue, turns in _sampled(ranked, sample, seed, "dialogues with a turn of two different replies")
        for turn in turns
    ]


def whole_items(
    dialogues: Sequence[Dialogue], per_item: int, metric: str, *, sample: int | None, seed: int
) -> list[Item]:
    """A whole dialogue is an item, rated or not, of the models that speak in it.

    Arguments and errors are those of :func:`replay_items`.
    """
    return [
        Item(
            f"{metric}:{one.dialogue_id}",
            Cell(tuple(sorted(one.models)) or (HUMAN,), metric),
            (one.dialogue_id,),
            wanted=per_item,
        )
        for one in _sampled(dialogues, sample, seed, "dialogues")
    ]


def _rating(dialogue: Dialogue) -> ReplayedRating:
    if dialogue.rating is None:
        raise DataError(
            f"dialogue {dialogue.dialogue_id} was not rated, so there is nothing to ask again",
            where=dialogue.place,
            try_="name tasks in which dialogues were rated live: {task: NAME}",
        )
    return dialogue.rating


def _models(dialogue: Dialogue) -> tuple[str, ...]:
    """The models that answered, by name, each of those that stood behind one partner by itself."""
    return tuple(sorted({one.model for turn in _rating(dialogue).turns for one in turn.candidates}))


def _several_replies(dialogue: Dialogue) -> list[Turn]:
    """Turns whose context is the same for all replies: of models with histories of their own only the first."""
    turns = [turn for turn in _rating(dialogue).turns if turn.complete and not turn.continued_each]
    if dialogue.settings.get("history") == "independent":
        turns = [turn for turn in turns if turn.turn == 1]
    return [turn for turn in turns if sum(not one.failed and one.same_as is None for one in turn.candidates) >= 2]


def _sampled(found: Sequence[T], sample: int | None, seed: int, what: str) -> list[T]:
    """A random sample, in the order of the whole."""
    if not found:
        raise NotEnough(f"there are no {what}", try_="name more files or tasks")
    if sample is None:
        return list(found)
    if sample > len(found):
        raise NotEnough(
            f"a sample of {sample} is wanted, but there are {len(found)} {what}",
            try_=f"ask for {len(found)} or fewer, or for all of them (null)",
        )
    return [found[index] for index in sorted(random.Random(f"sample:{seed}").sample(range(len(found)), sample))]
