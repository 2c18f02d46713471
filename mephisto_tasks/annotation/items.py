"""The dialogues of a study, from files, tasks and models that talk first; the items that are made of them; a unit's plan.

:func:`check_dialogues` says which dialogues a study needs that stops when it is decided (``stop=decided``).
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from mephisto_tasks.annotation.config import Pair, StaticConfig, check_cap
from mephisto_tasks.config.task import ConfigError
from mephisto_tasks.storage.results import raters_of_dialogues, read_dialogues
from parlai_humaneval._util.errors import InvalidValue, reworded
from parlai_humaneval._util.terminal import counting
from parlai_humaneval.allocation.groups import Cell
from parlai_humaneval.allocation.item import Item
from parlai_humaneval.allocation.pairing import (
    NotEnough,
    dialogues_of_pairs,
    judged_speaker,
    pair_items,
    replay_items,
    segment_items,
    turn_items,
    whole_items,
)
from parlai_humaneval.cli.model_options import placed
from parlai_humaneval.dialogues import sources as samples
from parlai_humaneval.dialogues.dialogue import HUMAN, Dialogue
from parlai_humaneval.dialogues.files import load_dialogues
from parlai_humaneval.dialogues.sources import load_sources
from parlai_humaneval.models.zoo.entries import load_zoo, resolve
from parlai_humaneval.schema.records import DialogueRecord, ShownDialogue

SELF_CHATS = "self_chats"
"""Folder, in the data directory, of the dialogues that models hold before a launch."""


@dataclass(frozen=True)
class Gathered:
    """What a study shows: ``dialogues`` by all items, ``items`` in a fixed order."""

    dialogues: list[Dialogue]
    items: list[Item]

    def wanted(self, config: StaticConfig) -> Mapping[Cell, int] | None:
        """Judgements to collect for each group; None: as many as its items need."""
        if config.judgements_per_group is None:
            return None
        return {item.cell: config.judgements_per_group for item in self.items}


def gather(config: StaticConfig, data_dir: Path, seed: int) -> Gathered:
    """Everything to judge.

    Raises:
        DataError, ZooError: a file or a model that cannot be used.
        ConfigError: models without dialogues, or fewer than are asked for; the message says how many are possible.
    """
    fitting = samples.rated if config.show in ("replay", "turn") else samples.with_a_model
    dialogues = load_sources(config.dialogues, lambda task: _rated(data_dir, task), fitting)
    for path in _generated_files(config, data_dir):  # it may hold more of them, from a launch that asked for more
        dialogues += load_dialogues(path)[: config.num_dialogues]
    people = _people(config, data_dir) if config.human_dialogues else []
    try:
        items = _items(config, dialogues, people, seed)
    except NotEnough as error:
        raise ConfigError(error) from error
    items = [
        _with_judged(config, item, {dialogue.dialogue_id: dialogue for dialogue in dialogues}, seed) for item in items
    ]
    used = {name for item in items for name in item.dialogues}
    return Gathered([dialogue for dialogue in [*dialogues, *people] if dialogue.dialogue_id in used], items)


def _generated_files(config: StaticConfig, data_dir: Path) -> list[Path]:
    """One file for each model, or pair of models, of a study that has them talk first; earlier files are used again."""
    if not config.generate:
        return []
    from parlai_humaneval.self_chat import GenerationProgress, SelfChatError, generate, pairs_of
    from parlai_humaneval.self_chat.files import ANEW
    from parlai_humaneval.self_chat.settings import checked_settings, fingerprint

    settings = checked_settings(
        num_dialogues=config.num_dialogues,
        exchanges=config.exchanges,
        start=config.start,
        start_file=config.start_file,
        context_kind=config.context_kind,
        seed=config.seed or 0,  # a seed that is drawn at every launch would have them talk anew every time
    )
    zoo = load_zoo(more=config.zoo_files)
    specs = resolve(config.model_names(), zoo)
    specs = placed(specs, config.engine or None, config.replicas, config.ray_address or None)
    pairs = pairs_of(config.model_names(), pairs=config.generate == "pairs")
    folder = (
        data_dir
        / SELF_CHATS
        / hashlib.sha256(
            (settings.model_dump_json(exclude={"num_dialogues"}) + fingerprint(settings)).encode()
        ).hexdigest()[:12]
    )
    wanted = len(pairs) * config.num_dialogues
    with counting(f"Models talk first ({', '.join(config.model_names())})", wanted, "dialogues") as count_to:
        done: dict[Path, int] = {}

        def note(file: GenerationProgress) -> None:
            done[file.path] = min(file.done, config.num_dialogues)
            count_to(sum(done.values()), wanted)

        try:
            made = generate(specs, pairs, settings, folder, batch_size=config.batch_size, on_progress=note)
        except SelfChatError as error:
            anew = f"remove the folder {folder} to have the models talk anew"
            raise ConfigError(reworded(error, ANEW, anew)) from error
    return [file.path for file in made]


def _with_judged(config: StaticConfig, item: Item, dialogues: Mapping[str, Dialogue], seed: int) -> Item:
    if config.show not in ("replay", "turn", "whole"):
        return item
    shown = [dialogues[name] for name in item.dialogues]
    return replace(
        item,
        judged=tuple(
            judged_speaker(dialogue, config.judged_speaker, seed) if dialogue.models else None for dialogue in shown
        ),
    )


def _rated(data_dir: Path, task: str) -> list[DialogueRecord]:
    complete = [record for record in read_dialogues(data_dir, task) if record.status == "complete"]
    if not complete:
        raise ConfigError(f"task {task!r} has no complete dialogue to judge: collect some first")
    return complete


def _people(config: StaticConfig, data_dir: Path) -> list[Dialogue]:
    loaded = load_sources(config.human_dialogues, lambda task: _rated(data_dir, task), samples.between_people)
    return [dialogue.named(dict.fromkeys(dialogue.speakers, HUMAN)) for dialogue in loaded]


def _items(config: StaticConfig, dialogues: list[Dialogue], people: list[Dialogue], seed: int) -> list[Item]:
    match config.show:
        case "pair":
            return _pair_items(config, dialogues, seed)
        case "segment":
            bots = [
                dialogue for dialogue in dialogues if not config.models or set(dialogue.models) <= set(config.models)
            ]
            return segment_items(
                bots,
                people,
                config.segment_lengths,
                config.human_share,
                config.judgements_per_item,
                config.metric,
                seeded=config.seed_exchanges,
                seed=seed,
            )
        case "replay":
            return replay_items(dialogues, config.judgements_per_item, sample=config.sample, seed=seed)
        case "turn":
            return turn_items(dialogues, config.judgements_per_item, sample=config.sample, seed=seed)
        case "whole":
            return whole_items(dialogues, config.judgements_per_item, config.metric, sample=config.sample, seed=seed)


def _pair_items(config: StaticConfig, dialogues: list[Dialogue], seed: int) -> list[Item]:
    groups = _pairs(config, dialogues)
    if config.is_decided:
        there = dialogues_of_pairs(dialogues, groups)
        try:
            check_dialogues(config, there)
        except ValueError as error:
            raise ConfigError(error) from error
    items = pair_items(
        dialogues,
        groups,
        config.metric,
        config.setting,
        judged=config.judged_speaker,
        wanted=(config.max_dialogues if config.is_decided else config.judgements_per_group) or 1,
        seed=seed,
    )
    return _by_kind(items, {dialogue.dialogue_id: dialogue for dialogue in dialogues})


def _by_kind(items: list[Item], dialogues: Mapping[str, Dialogue]) -> list[Item]:
    """Pairs of self-chats and of dialogues with people are counted and reported apart (Smith et al. 2022, §3.1.3)."""
    made = []
    for item in items:
        kinds = {dialogues[name].kind for name in item.dialogues}
        made.append(replace(item, cell=replace(item.cell, setting=kinds.pop() if len(kinds) == 1 else "mixed")))
    return made


def _pairs(config: StaticConfig, dialogues: Sequence[Dialogue]) -> list[tuple[str, str]]:
    if config.model_names():
        return config.pairs()
    models = list(dict.fromkeys(name for dialogue in dialogues for name in dialogue.models))
    if len(models) < 2:
        known = ", ".join(models) or "nobody who is named"
        raise ConfigError(
            f"comparing needs dialogues of two models or more, and these are of {known}",
            try_="say who speaks: {file: chats.jsonl, entities: {speaker_1: human, speaker_2: my_bot}}, or in the "
            "file itself, in each dialogue's entities",
        )
    return list(combinations(models, 2))


def own_dialogues(config: StaticConfig, gathered: Gathered, data_dir: Path) -> dict[str, list[str]]:
    """Worker → the dialogues of this study that they held themselves, in live tasks of the same data directory."""
    held: dict[str, list[str]] = {}
    entries = [*config.dialogues, *config.human_dialogues]
    for task in {str(entry["task"]) for entry in entries if isinstance(entry, Mapping) and "task" in entry}:
        raters = raters_of_dialogues(data_dir, task)
        for dialogue in gathered.dialogues:
            worker = raters.get(dialogue.dialogue_id) or raters.get(dialogue.dialogue_id.rpartition(":")[0])
            if worker is not None:
                held.setdefault(worker, []).append(dialogue.dialogue_id)
    return held


class PlannedItem(BaseModel):
    """An item of the study, or an attention check (``gold``: its number in the file, from 1).

    ``swapped``: the first dialogue stands on the right. ``visit``: the one that drew it, where that is not the one that the
    unit was planned for.
    """

    model_config = ConfigDict(extra="forbid")

    item_id: str
    gold: int | None = None
    swapped: bool = False
    seed: int
    visit: str = ""


class BatchPlan(BaseModel):
    """The items of a unit; where it goes on under a plan of its own, those that were left.

    ``session`` is its name in records, ``name`` that of the visit that it was planned for. ``wanted``: ordinary items of the
    whole unit, ``done``: those of them judged before that; ``number``: place of the first of ``items``, ``numbers``: of the
    last.
    """

    model_config = ConfigDict(extra="forbid")

    session: str
    name: str
    wanted: int
    done: int
    number: int
    numbers: int
    items: list[PlannedItem]
    page_key: str = ""
    language: str = ""

    def judgement_id(self, index: int) -> str:
        """Of the item that stands at an index."""
        return f"{self.items[index].visit or self.name}-{self.number + index}"

    def without(self, lost: Mapping[str, str | None], visit: str) -> BatchPlan:
        """The same plan where items were ``lost`` to others, or attention checks are asked no more: each with what stands in
        its place, None for nothing.

        None after the first of them has begun; the ``visit`` names them, so that none is taken for what began there.
        """
        items: list[PlannedItem] = []
        fewer = 0
        changed = False
        for item in self.items:
            other = lost.get(item.item_id, item.item_id)
            changed = changed or other != item.item_id
            if other is not None:
                update = {"item_id": other, "visit": visit} if changed else {}
                items.append(item.model_copy(update=update))
            elif item.gold is None:
                fewer += 1
        numbers = self.numbers - (len(self.items) - len(items))
        return self.model_copy(update={"items": items, "numbers": numbers, "wanted": self.wanted - fewer})


@dataclass(frozen=True)
class ItemToJudge:
    """An item as it goes to one rater; see :class:`~parlai_humaneval.schema.records.JudgementRecord`.

    ``turn``: the turn whose replies are ranked, where that is asked.
    """

    judgement_id: str
    item_id: str
    group: tuple[str, ...]
    setting: str
    dialogues: list[ShownDialogue]
    seed: int
    session: str
    number: int
    numbers: int
    expected: dict[str, str] | None = None
    turn: int | None = None


def plan_batch(
    *,
    session: str,
    name: str,
    item_ids: list[str],
    golds: list[int],
    done: int,
    wanted: int,
    swap: bool,
    seed: int,
    golds_done: int = 0,
) -> BatchPlan:
    """Attention checks fall among the items at random, sides are swapped at random; all hangs on ``seed`` and ``name``.

    None is the first of a unit: somebody who leaves after a check has judged something by then, and goes on later.

    Args:
        session: the unit's name in records.
        name: of this visit.
        item_ids: in the order in which they were drawn.
        golds: numbers of the attention checks.
        done: items judged in earlier visits.
        wanted: items of the whole unit.
        swap: whether there are two sides.
        seed: the study's.
        golds_done: attention checks judged in earlier visits.
    """
    chance = random.Random(f"batch:{seed}:{name}")
    judged = done + golds_done
    first = 0 if judged else 1
    entries: list[tuple[str, int | None]] = [(item_id, None) for item_id in item_ids]
    for gold in golds:
        entries.insert(chance.randint(min(first, len(entries)), len(entries)), (f"gold:{gold}", gold))
    items = [
        PlannedItem(item_id=item_id, gold=gold, swapped=swap and chance.random() < 0.5, seed=chance.getrandbits(31))
        for item_id, gold in entries
    ]
    return BatchPlan(
        session=session,
        name=name,
        wanted=wanted,
        done=done,
        number=judged + 1,
        numbers=judged + len(items),
        items=items,
    )


def check_dialogues(config: StaticConfig, dialogues: Mapping[Pair, tuple[int, int]]) -> None:
    """Raise where the dialogues that are there are not those of such a study.

    ``dialogues``: how many there are of either model, for each pair that is compared.

    Raises:
        ValueError: says what to do.
    """
    pairs = list(dialogues)
    config.check_stopping(compared(config, pairs), pairs, [config.setting])
    check_cap(config, dialogues)


def compared(config: StaticConfig, groups: Sequence[Sequence[str]]) -> list[str]:
    """The models of the study, in the same order in every launch, in whatever order their dialogues come."""
    return config.model_names() or sorted({model for group in groups for model in group})


def the_kind(items: Sequence[Item]) -> str:
    """Of which kind the dialogues are, such as self_chat.

    Raises:
        InvalidValue: they are of several kinds.
    """
    kinds = sorted({item.cell.setting for item in items})
    if len(kinds) > 1:
        raise InvalidValue(
            "stop=decided answers one question, and these dialogues make pairs of several kinds "
            f"({', '.join(kinds)}), which are judged apart",
            try_="name dialogues of one kind",
        )
    return kinds[0]
