"""The dialogues of a study, from files, tasks and models that talk first; the items made of them; a unit's plan."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

from pydantic import BaseModel

from mephisto_tasks.annotation.config import StaticConfig, check_cap
from mephisto_tasks.config.names import refuse
from mephisto_tasks.config.task import ConfigError
from mephisto_tasks.storage.locks import image_store
from mephisto_tasks.storage.results import ResultsError, raters_of_dialogues, read_dialogues
from parlai_humaneval._util.terminal import counting, say
from parlai_humaneval.allocation import pairing
from parlai_humaneval.allocation.groups import Cell, Item
from parlai_humaneval.cli.options import placed
from parlai_humaneval.dialogues import PACKAGED
from parlai_humaneval.dialogues import sources as samples
from parlai_humaneval.dialogues.dialogue import HUMAN, Dialogue
from parlai_humaneval.dialogues.files import load_dialogues
from parlai_humaneval.dialogues.sources import load_sources
from parlai_humaneval.display.images import ImageStore
from parlai_humaneval.models.zoo.entries import load_zoo, resolve
from parlai_humaneval.schema.records import DialogueRecord

SELF_CHATS = "self_chats"  # folder, in the data directory, of the dialogues that models hold before a launch
COLLECT_FIRST = (
    "collect dialogues with task_name={task} first, or judge others; for samples, use 'dialogues=[packaged]'"
)


@dataclass(frozen=True)
class Gathered:
    """The material of a study: ``dialogues`` by all items, ``items`` in a fixed order."""

    dialogues: list[Dialogue]
    items: list[Item]

    def wanted(self, config: StaticConfig) -> Mapping[Cell, int] | None:
        """Judgements to collect for each group; None: as many as its items need."""
        if config.judgements_per_group is None:
            return None
        there = Counter(item.cell for item in self.items)
        most = config.judgements_per_group
        return {cell: min(most, count) if config.keep_pairs else most for cell, count in there.items()}


def gather(config: StaticConfig, data_dir: Path, seed: int) -> Gathered:
    """Everything to judge. Raises DataError, ZooError, SelfChatError; ConfigError, NotEnough: too few dialogues."""
    fitting = samples.rated if config.show in ("replay", "turn") else samples.with_a_model
    dialogues = load_sources(config.dialogues, lambda task: _rated(data_dir, task), fitting)
    for remark in samples.taken_as(dialogues):
        say(remark, err=True)
    for path in _generated_files(config, data_dir):  # it may hold more of them, from a launch that asked for more
        dialogues += load_dialogues(path)[: config.num_dialogues]
    people = load_sources(config.human_dialogues, lambda task: _rated(data_dir, task), samples.between_people)
    people = [replace(one, entities=dict.fromkeys(one.speakers, HUMAN)) for one in people]
    items = _items(config, dialogues, people, seed)
    used = {name for item in items for name in item.dialogues}
    if config.show in ("replay", "turn", "whole"):
        judged = {
            dialogue.dialogue_id: pairing.judged_speaker(dialogue, config.judged_speaker, seed)
            for dialogue in dialogues
            if dialogue.models and dialogue.dialogue_id in used
        }
        items = [replace(item, judged=tuple(map(judged.get, item.dialogues))) for item in items]
    return Gathered([dialogue for dialogue in [*dialogues, *people] if dialogue.dialogue_id in used], items)


def pairings(config: StaticConfig, data_dir: Path) -> dict[tuple[str, str], tuple[int, int]]:
    """Dialogues of each pair's two models (of both together, and 1, where they talk to each other), as far as that is
    known before a launch: empty if none are named, or none exist yet. Raises DataError."""
    if config.generate and not config.dialogues:
        each = config.num_dialogues
        return dict.fromkeys(config.pairs(), (each, 1 if config.show == "segment" else each))
    if config.show != "pair" or config.generate or PACKAGED in config.dialogues:
        return {}
    try:
        dialogues = load_sources(config.dialogues, lambda task: _rated(data_dir, task), samples.with_a_model)
        return pairing.dialogues_of_pairs(dialogues, _pairs(config, dialogues))
    except (ConfigError, pairing.NotEnough):
        return {}  # a study may be registered before they are held


def _generated_files(config: StaticConfig, data_dir: Path) -> list[Path]:
    """One file for each model, or pair of models, of a study that has them talk first; earlier files are used again."""
    if not config.generate:
        return []
    from parlai_humaneval.self_chat import GenerationProgress, generate, pairs_of
    from parlai_humaneval.self_chat.files import OtherDialogues
    from parlai_humaneval.self_chat.settings import checked_settings, fingerprint

    asked = config.model_dump(include={"num_dialogues", "exchanges", "start", "start_file", "context_kind"})
    # A seed drawn at every launch would make them talk again every time.
    settings = checked_settings(**asked, seed=config.seed or 0)
    zoo = load_zoo(more=config.zoo_files)
    specs = resolve(config.model_names(), zoo)
    specs = placed(specs, config.engine or None, config.replicas, config.ray_address or None)
    pairs = pairs_of(config.model_names(), pairs=config.generate == "pairs")
    made_by = settings.model_dump_json(exclude={"num_dialogues"}) + fingerprint(settings)
    folder = data_dir / SELF_CHATS / hashlib.sha256(made_by.encode()).hexdigest()[:12]
    wanted = len(pairs) * config.num_dialogues
    with counting(f"Models talk first ({', '.join(config.model_names())})", wanted, "dialogues") as count_to:
        done: dict[Path, int] = {}

        def note(file: GenerationProgress) -> None:
            done[file.path] = min(file.done, config.num_dialogues)
            count_to(sum(done.values()), wanted)

        try:
            made = generate(specs, pairs, settings, folder, batch_size=config.batch_size, on_progress=note)
        except OtherDialogues as error:
            anew = f"remove the folder {folder} to have the models talk again"
            raise ConfigError(error.what, where=error.where, try_=anew) from error
    return [file.path for file in made]


def _rated(data_dir: Path, task: str) -> list[DialogueRecord]:
    try:
        complete = [record for record in read_dialogues(data_dir, task) if record.status == "complete"]
    except ResultsError as error:
        raise ConfigError(error, where="dialogues", try_=COLLECT_FIRST.format(task=task)) from error
    if not complete:
        raise ConfigError(f"task {task!r} has no complete dialogue to judge: collect some first")
    return complete


def images_of(config: StaticConfig, dialogues: Sequence[Dialogue], data_dir: Path, task_name: str) -> ImageStore | None:
    """The pictures of the dialogues, copied from their own studies; None: there are none. Raises ConfigError."""
    named = {
        (dialogue.source, image.digest)
        for dialogue in dialogues
        for images in (
            *(line.images for line in dialogue.lines),
            *(one.images for turn in (dialogue.rating.turns if dialogue.rating else ()) for one in turn.candidates),
        )
        for image in images
    }
    if not named:
        return None
    store = image_store(data_dir, task_name)
    for source, digest in sorted(named):
        store.copy(digest, image_store(data_dir, source))
    return store


def _items(config: StaticConfig, dialogues: list[Dialogue], people: list[Dialogue], seed: int) -> list[Item]:
    times, sample = config.judgements_per_item, config.sample
    match config.show:
        case "pair":
            return _pair_items(config, dialogues, seed)
        case "segment":
            bots = [one for one in dialogues if not config.models or set(one.models) <= set(config.models)]
            lengths, share, metric = config.segment_lengths, config.human_share, config.metric
            if config.is_decided:
                # Segments of dialogues between people, which do not count as evidence, for any number of raters.
                longest = max(config.segment_lengths) + config.seed_exchanges
                long = [dialogue for dialogue in people if dialogue.exchanges >= longest] if config.human_share else []
                of_people = _segments(config, long, seed) if long else []
                every = config.max_dialogues or 1
                return [*_contests(config, bots, seed), *(replace(item, wanted=every) for item in of_people)]
            return pairing.segment_items(
                bots, people, lengths, share, times, metric, seeded=config.seed_exchanges, seed=seed
            )
        case "replay":
            return pairing.replay_items(dialogues, times, sample=sample, seed=seed)
        case "turn":
            return pairing.turn_items(dialogues, times, sample=sample, seed=seed)
        case "whole":
            return pairing.whole_items(dialogues, times, config.metric, sample=sample, seed=seed)


def _pair_items(config: StaticConfig, dialogues: list[Dialogue], seed: int) -> list[Item]:
    groups = _pairs(config, dialogues)
    if config.is_decided:
        there = pairing.dialogues_of_pairs(dialogues, groups)
        config.check_stopping(compared(config, list(there)), list(there), [config.setting])
        check_cap(config, there)
    wanted = (config.max_dialogues if config.is_decided else config.judgements_per_group) or 1
    enough = 1 if config.keep_pairs and not config.is_decided else wanted
    items = pairing.pair_items(
        dialogues,
        groups,
        config.metric,
        config.setting,
        judged=config.judged_speaker,
        wanted=wanted,
        enough=enough,
        seed=seed,
        pairing=config.pairing,
    )
    possible = sum(one * other for one, other in pairing.dialogues_of_pairs(dialogues, groups).values())
    if len(items) < min(possible, pairing.ALL_PAIRINGS):
        say(
            f"Raters compare only dialogues that have the same beginning or are listed as a pair in a file: "
            f"{len(items):,} of {possible:,} possible pairs. To compare any two dialogues, set pairing=any",
            err=True,
        )
    fewest = min(Counter(item.cell for item in items).values(), default=wanted)
    if enough < wanted and fewest < wanted:
        say(
            f"For some pairs of models, only {fewest} pairs of dialogues can be compared, so this study collects fewer "
            f"than {wanted} judgements. To collect more, set judgements_per_group",
            err=True,
        )
    parted = pairing.parted_pairs(dialogues, groups, enough) if config.pairing == "auto" else None
    if parted is not None:
        models, kind, count = parted
        what = "pairs that the file lists" if kind == "given" else "answers to the same question"
        why = f"there are only {count} such pairings" if count < wanted else "some dialogues have no partner"
        number = "max_dialogues" if config.is_decided else "judgements_per_group"
        fewer = f" and {number}={count}" * (count < wanted)
        say(
            f"{what} are not shown side by side for {' vs '.join(models)}: {wanted} judgements are needed, but {why}. "
            f"To show them side by side, set pairing={kind}{fewer}",
            err=True,
        )
    # Pairs of self-chats and of dialogues with people are counted and reported apart (Smith et al. 2022, §3.1.3).
    kind_of, made = {dialogue.dialogue_id: dialogue.kind for dialogue in dialogues}, []
    for item in items:
        kinds = {kind_of[name] for name in item.dialogues}
        made.append(replace(item, cell=replace(item.cell, setting=kinds.pop() if len(kinds) == 1 else "mixed")))
    return made


def _contests(config: StaticConfig, dialogues: Sequence[Dialogue], seed: int) -> list[Item]:
    """A segment of each dialogue of two models, of any of the lengths, so that nobody judges what another one has seen.
    Raises ConfigError: too few dialogues, or of other speakers."""
    chance, of_dialogue = random.Random(f"lengths:{seed}"), dict[str, list[Item]]()
    for item in _segments(config, dialogues, seed):
        of_dialogue.setdefault(item.dialogues[0], []).append(item)
    there = Counter(segments[0].cell.models for segments in of_dialogue.values())
    for models in there:
        refuse(
            HUMAN in models or len(set(models)) < 2,
            f"stop=decided compares two models that talk to each other, but the dialogues are of {' and '.join(models)}",
            "choose dialogues between two models, or have them talk: generate=pairs",
        )
    config.check_stopping(compared(config, list(there)), list(there), [config.setting])
    check_cap(config, {(first, second): (number, 1) for (first, second), number in there.items()})
    return [chance.choice(segments) for segments in of_dialogue.values()]


def _segments(config: StaticConfig, dialogues: Sequence[Dialogue], seed: int) -> list[Item]:
    lengths, metric = config.segment_lengths, config.metric
    return pairing.segment_items(dialogues, [], lengths, 0.0, 1, metric, seeded=config.seed_exchanges, seed=seed)


def is_of_people(item: Item) -> bool:
    """Whether no model speaks in what is judged."""
    return set(item.cell.models) == {HUMAN}


def _pairs(config: StaticConfig, dialogues: Sequence[Dialogue]) -> list[tuple[str, str]]:
    if config.model_names():
        return config.pairs()
    models = list(dict.fromkeys(name for dialogue in dialogues for name in dialogue.models))
    if len(models) < 2:
        known = ", ".join(models) or "unnamed speakers"
        unnamed = next((one for one in dialogues if len(one.entities) < len(one.speakers)), None)
        how = "add dialogues of another model"
        if unnamed is not None:
            speakers = [speaker for speaker in unnamed.speakers if speaker not in unnamed.entities]
            names = "human", "my_bot"
            who = ", ".join(f"{a}: {b}" for a, b in zip(speakers, names[-len(speakers) :], strict=False))
            how = f"say who speaks: {{file: {unnamed.source}, entities: {{{who}}}}}, or in the file itself, in each "
            how += "dialogue's entities"
        raise ConfigError(f"a comparison needs dialogues of two or more models, but these are of {known}", try_=how)
    pairs = list(combinations(models, 2))
    if config.pairing == "any" or config.is_decided or not pairing.are_listed(dialogues):
        return pairs
    listed = pairing.models_of_pairs(dialogues)
    return [both for both in pairs if frozenset(both) in listed] or pairs


def held_by_rater(config: StaticConfig, gathered: Gathered, data_dir: Path) -> dict[str, list[str]]:
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


class PlannedItem(BaseModel, extra="forbid"):
    """An item, or an attention check (``gold``: its number in the file, from 1). ``swapped``: the first dialogue stands
    on the right. ``visit``: the one that drew it, where that is another than the plan's."""

    item_id: str
    gold: int | None = None
    swapped: bool = False
    seed: int
    visit: str = ""


class BatchPlan(BaseModel, extra="forbid"):
    """The items of a unit that are still to be judged. ``session``: its name in records, ``name``: of its visit.
    ``wanted`` ordinary items in all, ``done`` before; ``number``, ``numbers``: places of the first and last."""

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
        return f"{self.items[index].visit or self.name}-{self.number + index}"

    def without(self, lost: Mapping[str, str | None], visit: str) -> BatchPlan:
        """The same plan after items were ``lost``: each with its replacement, or None. The ``visit`` names those from
        the first such on, so that none is taken for what began there."""
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
    """Attention checks (``golds``) fall among the items, and sides are swapped, by ``seed`` and ``name``. No check is
    the first of a unit: somebody who leaves after it has judged something, and goes on later."""
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


def compared(config: StaticConfig, groups: Sequence[Sequence[str]]) -> list[str]:
    """The models of the study, in the same order in every launch, in whatever order their dialogues come."""
    return config.model_names() or sorted({model for group in groups for model in group})


def the_kind(items: Sequence[Item]) -> str:
    """The kind of the dialogues, such as self_chat. Raises ConfigError: they are of several kinds."""
    kinds = sorted({item.cell.setting for item in items})
    if len(kinds) > 1:
        raise ConfigError(
            "stop=decided answers one question, but these dialogues make pairs of several kinds "
            f"({', '.join(kinds)}), which are judged separately",
            try_="choose dialogues of one kind",
        )
    return kinds[0]
