"""Items made of finished dialogues.

Pairs, one dialogue of each of two models, are compared side by side (Smith et al. 2022, §3.1.3); segments are beginnings
whose speakers are judged; replays show a rated dialogue to another rater.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Literal, TypeVar

from parlai_humaneval._util.data_files import DataError
from parlai_humaneval._util.errors import HumanevalError, InvalidValue
from parlai_humaneval.allocation import Pairing
from parlai_humaneval.allocation.groups import Cell, Item
from parlai_humaneval.dialogues.dialogue import HUMAN, Dialogue
from parlai_humaneval.i18n.translate import worded
from parlai_humaneval.schema.records import ReplayedRating

ALL_PAIRINGS = 5_000  # Up to so many pairings of two models, all of them are items
SPARE = 4
"""This many times as many as wanted, so that workers who have met most dialogues still find some."""

Judged = Literal["first", "second", "random"]


class NotEnough(HumanevalError, ValueError):
    """Fewer dialogues than are asked for; the message says how many judgements are possible, and what to do."""


def _too_few(why: str, **facts: object) -> NotEnough:
    return NotEnough(worded(__file__, why, **facts))


def _unfit(dialogue: Dialogue, why: str, **facts: object) -> DataError:
    return DataError(worded(__file__, why, dialogue=dialogue.dialogue_id, **facts), where=dialogue.place)


def pair_items(
    dialogues: Sequence[Dialogue],
    groups: Sequence[tuple[str, str]],
    metric: str,
    setting: str,
    *,
    judged: Judged,
    wanted: int,
    seed: int,
    pairing: Pairing = "auto",
    enough: int | None = None,
) -> list[Item]:
    """Every pairing of a dialogue of one model with one of the other, each to be judged once at most; ``pairing`` says
    which (:data:`Pairing`). N dialogues of A and M of B make N × M pairings (Smith et al. 2022, App. C.7). Where these
    are more than ``ALL_PAIRINGS``, a part of them is taken in which each dialogue stands as often as any other of its
    model, or once more. Which part hangs on ``seed``; the ids of items do not. ``dialogues``: those of two different
    models, or of models in no ``groups``, are left aside. ``judged``: which speaker of a self-chat is asked about (with
    a person it is the model); ``random``: drawn for each dialogue by ``seed``. ``wanted``: judgements of each pair of
    models; ``enough``: so many pairs that belong together are compared alone under ``auto`` (None: ``wanted``). Raises
    NotEnough where there are fewer pairings, DataError where it is not known who speaks in a dialogue."""
    of_model = _dialogues_by_model(dialogues)
    items: list[Item] = []
    for first, second in groups:
        both = (_of(of_model, first), _of(of_model, second))
        pairs = _pairings(*both, (first, second), wanted, seed, pairing, wanted if enough is None else enough)
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
    """How many dialogues there are of the one model and of the other, for each pair of models; raises as above."""
    of_model = _dialogues_by_model(dialogues)
    return {(one, other): (len(_of(of_model, one)), len(_of(of_model, other))) for one, other in groups}


def judged_speaker(dialogue: Dialogue, judged: Judged, seed: int) -> int:
    """Index of the speaker who is asked about; 0: the one who speaks first."""
    entities = [dialogue.entities[speaker] for speaker in dialogue.speakers]
    if HUMAN in entities:
        return 1 - entities.index(HUMAN)
    if judged == "random":  # the same for the same dialogue, whatever others there are
        digest = hashlib.sha256(f"{seed}\n{dialogue.dialogue_id}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % 2
    return 0 if judged == "first" else 1


def _dialogues_by_model(dialogues: Sequence[Dialogue]) -> dict[str, list[Dialogue]]:
    found: dict[str, list[Dialogue]] = {}
    for dialogue in dialogues:
        dialogue.known_entities()
        if not dialogue.models:
            raise _unfit(dialogue, "people")
        if len(dialogue.models) == 1:
            found.setdefault(dialogue.models[0], []).append(dialogue)
    return found


def _of(of_model: dict[str, list[Dialogue]], model: str) -> list[Dialogue]:
    if model not in of_model:
        known = ", ".join(f"{name} ({len(found)})" for name, found in sorted(of_model.items())) or "no model"
        raise _too_few("no_model", model=model, known=known)
    return of_model[model]


def _pairings(
    ours: list[Dialogue],
    theirs: list[Dialogue],
    models: tuple[str, str],
    wanted: int,
    seed: int,
    pairing: Pairing,
    enough: int,
) -> list[tuple[Dialogue, Dialogue]]:
    asked = {"wanted": wanted, "models": " vs ".join(models)}
    for kind, key in (("given", _given), ("same_start", _start)):
        if pairing in ("auto", kind):
            matched = _matched(ours, theirs, key)
            if pairing == kind == "given" and not matched:
                raise _too_few("none_given", **asked)
            if pairing == kind and wanted > len(matched):
                fewer = f"set judgements_per_group={len(matched)} or less, or " * bool(matched)
                raise _too_few(kind, **asked, matched=len(matched), fewer=fewer)
            if pairing == kind or _are_kept(ours, theirs, key, enough):
                most = max(ALL_PAIRINGS, SPARE * wanted)
                rng = random.Random(f"pairs:{seed}:{models}")
                return matched if len(matched) <= most else rng.sample(matched, most)
    possible = len(ours) * len(theirs)
    if wanted > possible:
        first, second = (
            f"{'one dialogue' if len(found) == 1 else f'{len(found)} dialogues'} of {name}"
            for found, name in zip((ours, theirs), models, strict=True)
        )
        if given := len(_matched(ours, theirs, _given)):
            raise _too_few("any_of_given", **asked, possible=possible, first=first, second=second, given=given)
        raise _too_few("any", **asked, possible=possible, first=first, second=second)
    if possible <= ALL_PAIRINGS:
        return [(one, other) for one in ours for other in theirs]
    return _balanced(ours, theirs, min(possible, max(ALL_PAIRINGS, SPARE * wanted)), f"pairs:{seed}:{models}")


def parted_pairs(
    dialogues: Sequence[Dialogue], groups: Sequence[tuple[str, str]], wanted: int
) -> tuple[tuple[str, str], Literal["given", "same_start"], int] | None:
    """The first pair of models of which ``auto`` compares all with all, although a file pairs their dialogues, or at least
    half of the starts are shared; by what, and how many pairings that would leave. None: there is no such pair."""
    of_model = _dialogues_by_model(dialogues)
    for models in groups:
        ours, theirs = (_of(of_model, model) for model in models)
        if any(_are_kept(ours, theirs, key, wanted) for key in (_given, _start)):
            continue
        if matched := _matched(ours, theirs, _given):
            return models, "given", len(matched)
        starts = [_keys(found, _start) for found in (ours, theirs)]
        if len(starts[0] & starts[1]) > 1 and 2 * len(starts[0] & starts[1]) >= max(map(len, starts)):
            return models, "same_start", len(_matched(ours, theirs, _start))
    return None


def _are_kept(
    ours: Sequence[Dialogue], theirs: Sequence[Dialogue], key: Callable[[Dialogue], list[str]], wanted: int
) -> bool:
    """Whether every dialogue has a partner by ``key``, and there are enough pairings. In a file of pairs, the partner of
    a dialogue may be of a third model."""
    keys, others = _keys(ours, key), _keys(theirs, key)
    is_kept = are_listed([*ours, *theirs]) if key is _given else keys == others and len(keys) > 1
    return is_kept and max(wanted, 1) <= len(_matched(ours, theirs, key))


def are_listed(dialogues: Sequence[Dialogue]) -> bool:
    """Whether a file pairs each of these dialogues with another one."""
    return all(_given(dialogue) for dialogue in dialogues)


def models_of_pairs(dialogues: Sequence[Dialogue]) -> set[frozenset[str]]:
    """The models of each pair of dialogues that a file lists."""
    found: dict[str, list[str]] = {}
    for dialogue in dialogues:
        for pair in _given(dialogue):
            found.setdefault(pair, []).extend(dialogue.models)
    return set(map(frozenset, found.values()))


def _keys(dialogues: Sequence[Dialogue], key: Callable[[Dialogue], list[str]]) -> set[str]:
    return {each for dialogue in dialogues for each in key(dialogue)}


def _given(dialogue: Dialogue) -> list[str]:
    return [f"{dialogue.source}: {pair}" for pair in dialogue.settings.get("pairs", ())]


def _start(dialogue: Dialogue) -> list[str]:
    """Which start a dialogue has: that of its file, else its first line."""
    return [str(dialogue.settings.get("start_id") or dialogue.texts[0].strip().casefold())]


def _matched(
    ours: Sequence[Dialogue], theirs: Sequence[Dialogue], key: Callable[[Dialogue], list[str]]
) -> list[tuple[Dialogue, Dialogue]]:
    partners: dict[str, list[Dialogue]] = {}
    for other in theirs:
        for each in key(other):
            partners.setdefault(each, []).append(other)
    return [(one, other) for one in ours for each in key(one) for other in partners.get(each, [])]


def _balanced(
    ours: list[Dialogue], theirs: list[Dialogue], number: int, chance: str
) -> list[tuple[Dialogue, Dialogue]]:
    """``number`` different pairings. Each dialogue is used as often as its model's others, or once more. Both in random
    order, pairing n joins the n-th of one, counted round and round, with the n-th of the other. Every time that both
    counts come back to where they began (after their least common multiple), the other is shifted by one."""
    rng = random.Random(chance)
    ours, theirs = rng.sample(ours, len(ours)), rng.sample(theirs, len(theirs))
    period = math.lcm(len(ours), len(theirs))
    return [(ours[step % len(ours)], theirs[(step + step // period) % len(theirs)]) for step in range(number)]


def segment_items(
    bot_dialogues: Sequence[Dialogue],
    human_dialogues: Sequence[Dialogue],
    lengths: Sequence[int],
    human_share: float,
    per_item: int,
    metric: str,
    *,
    seeded: int = 0,
    seed: int,
) -> list[Item]:
    """Each dialogue at each length is an item, to be judged ``per_item`` times. ``human_dialogues``: so many of them
    are drawn that the share comes true, as near as can be; at least one. ``lengths``: exchanges of the segments,
    without the ``seeded`` ones at the beginning, which no model has said and which are shown before all segments.
    Raises NotEnough, DataError where a dialogue is too short, and InvalidValue."""
    if not lengths or min(lengths) < 1 or len(set(lengths)) < len(lengths):
        what = f"the lengths of segments must be different numbers, 1 or more, not {list(lengths)}"
        raise InvalidValue(what, try_="write them as in [2,3,5]")
    if not 0 <= human_share < 1:
        what = f"the share of dialogues between people must be at least 0 and less than 1, not {human_share}"
        raise InvalidValue(what, try_="choose one such as 0.3")
    if not bot_dialogues:
        raise _too_few("nobody")
    _long_enough(bot_dialogues, max(lengths), seeded, "dialogues")
    people = _drawn(human_dialogues, len(bot_dialogues), human_share, max(lengths), seeded, seed)
    return [
        Item(
            f"{metric}:{dialogue.dialogue_id}:{k}",
            Cell(tuple(sorted(dialogue.known_entities())), metric),
            (dialogue.dialogue_id,),
            k=k,
            wanted=per_item,
        )
        for dialogue in [*bot_dialogues, *people]
        for k in lengths
    ]


def _long_enough(dialogues: Sequence[Dialogue], k: int, seeded: int, what: str) -> None:
    short = [one for one in dialogues if one.exchanges < k + seeded]
    if short:
        first = short[0]
        after = f" after {seeded} of the seed" if seeded else ""
        facts = {"exchanges": first.exchanges, "long": len(dialogues) - len(short), "all": len(dialogues), "of": what}
        raise _unfit(first, "short", needed=f"{k}{after}", **facts)


def _drawn(people: Sequence[Dialogue], bots: int, share: float, k: int, seeded: int, seed: int) -> list[Dialogue]:
    """``share`` = people / (people + bots), solved for the people. Short ones are passed over, as there is a choice."""
    if not share:
        return []
    number = max(1, math.floor(bots * share / (1 - share) + 0.5))
    fit = [one for one in people if one.exchanges >= k + seeded]
    if people and not fit:
        _long_enough(people, k, seeded, "dialogues between people")
    if number > len(fit):
        lower = math.floor(100 * len(fit) / (len(fit) + bots)) / 100
        facts = {"people": len(people), "fit": len(fit), "lower": lower}
        raise _too_few("share", share=share, bots=bots, number=number, **facts)
    for one in fit:
        if set(one.known_entities()) != {HUMAN}:
            raise _unfit(one, "no_people")
    return random.Random(f"people:{seed}").sample(fit, number)


RANK = "rank"  # Metric of rankings

T = TypeVar("T")


def replay_items(dialogues: Sequence[Dialogue], per_item: int, *, sample: int | None, seed: int) -> list[Item]:
    """A whole rated dialogue is an item, to be judged ``per_item`` times; two that stood side by side are one.
    ``sample``: how many to draw at random; None: all. Raises NotEnough, and DataError where a dialogue was not rated.
    """
    together = [list(group) for _, group in groupby(dialogues, key=lambda one: id(_rating(one)))]
    return [
        Item(
            f"replay:{' | '.join(one.dialogue_id for one in group)}",
            Cell(_answering_models(group[0]), _rating(group[0]).metric, _rating(group[0]).setting),
            tuple(one.dialogue_id for one in group),
            (None,) * len(group),
            wanted=per_item,
        )
        for group in _random_sample(together, sample, seed, "rated dialogues")
    ]


def turn_items(dialogues: Sequence[Dialogue], per_item: int, *, sample: int | None, seed: int) -> list[Item]:
    """Each complete turn of which two or more different replies were shown is an item: all its replies are ranked.
    ``sample`` counts dialogues; else as :func:`replay_items`."""
    ranked = []
    for one in dialogues:
        turns = [turn for turn in _rating(one).turns if turn.complete and not turn.continued_each]
        # The context is the same for all replies: of models with histories of their own only in the first turn.
        if one.settings.get("history") == "independent":
            turns = [turn for turn in turns if turn.turn == 1]
        turns = [turn for turn in turns if sum(not c.failed and c.same_as is None for c in turn.candidates) >= 2]
        if turns:
            ranked.append((one, turns))
    return [
        Item(
            f"{RANK}:{dialogue.dialogue_id}:{turn.turn}",
            Cell(_answering_models(dialogue), RANK, _rating(dialogue).setting),
            (dialogue.dialogue_id,),
            turn=turn.turn,
            wanted=per_item,
        )
        for dialogue, turns in _random_sample(ranked, sample, seed, "dialogues with a turn of two different replies")
        for turn in turns
    ]


def whole_items(
    dialogues: Sequence[Dialogue], per_item: int, metric: str, *, sample: int | None, seed: int
) -> list[Item]:
    """A whole dialogue is an item, rated or not, of the models that speak in it; else as :func:`replay_items`."""
    return [
        Item(
            f"{metric}:{one.dialogue_id}",
            Cell(tuple(sorted(one.models)) or (HUMAN,), metric),
            (one.dialogue_id,),
            wanted=per_item,
        )
        for one in _random_sample(dialogues, sample, seed, "dialogues")
    ]


def _rating(dialogue: Dialogue) -> ReplayedRating:
    if dialogue.rating is None:
        raise _unfit(dialogue, "unrated")
    return dialogue.rating


def _answering_models(dialogue: Dialogue) -> tuple[str, ...]:
    return tuple(sorted({one.model for turn in _rating(dialogue).turns for one in turn.candidates}))


def _random_sample(found: Sequence[T], sample: int | None, seed: int, what: str) -> list[T]:
    if not found:
        raise _too_few("nothing", of=what)
    if sample is None:
        return list(found)
    if sample > len(found):
        raise _too_few("sample", sample=sample, found=len(found), of=what)
    return [found[index] for index in sorted(random.Random(f"sample:{seed}").sample(range(len(found)), sample))]
