"""The dialogues of a study, from files, tasks and models that talk first; and the items that are made of them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

from mephisto_tasks.annotation.config import StaticConfig
from mephisto_tasks.annotation.study import check_dialogues
from mephisto_tasks.config.task import ConfigError
from mephisto_tasks.storage.results import raters_of_dialogues, read_dialogues
from parlai_humaneval._util.errors import reworded
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
from parlai_humaneval.schema.records import DialogueRecord

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
    """One file for each model, or pair of models, of a study that has them talk first; none where it does not.

    The missing dialogues are made, those of earlier launches are used again.

    Raises:
        ConfigError: the dialogues of an earlier launch were made by other models of the same names.
        SelfChatError: settings that do not go together.
        ZooError: a model that is not known or cannot be loaded.
        DataError: a file of openers, dialogues or contexts that cannot be used.
    """
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
        / _folder_name(settings.model_dump_json(exclude={"num_dialogues"}) + fingerprint(settings))
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


def _folder_name(settings: str) -> str:
    """The same for the same settings: a folder for each way to make dialogues."""
    return hashlib.sha256(settings.encode()).hexdigest()[:12]


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
    """The pairs of models as configured; none named: every two that have dialogues."""
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
