"""Dialogues between two models: one under way, and those of some pairs, many at once, so that each model's batch is full."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from parlai_humaneval._util.errors import Problem
from parlai_humaneval.dialogues.dialogue import OWN, PARTNERS
from parlai_humaneval.dialogues.files import CONTEXT
from parlai_humaneval.display.text import without_thoughts
from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.pool.asking import Answer, Asking, ModelFailed
from parlai_humaneval.models.pool.loading import Child, Utterance
from parlai_humaneval.models.pool.worker import ModelWorker
from parlai_humaneval.models.zoo.entries import ZooError
from parlai_humaneval.self_chat.files import DialogueFile, GeneratedFile, dialogue_id, seed_of, speaker_ids
from parlai_humaneval.self_chat.settings import Pair, SelfChatSettings, Start, starts_of


class ModelsFailed(ModelFailed):
    """Some models gave no reply after all retries, each with its reason; ``files`` holds the others' dialogues."""

    def __init__(self, reasons: Mapping[str, Problem], files: Sequence[GeneratedFile]) -> None:
        facts = dict.fromkeys(reason.fact for reason in reasons.values())
        advice = dict.fromkeys(advice for reason in reasons.values() for advice in reason.try_)
        super().__init__(list(reasons), Problem("; ".join(facts), try_=tuple(advice)))
        self.files = list(files)


SILENCE_SHOWN = "…"
"""Stands for a reply that was empty at every try: the partner hears it, and a rater sees that nothing came."""


class BotDialogue:
    """Two models and what they have said so far, by turns: of a pair, the first begins even dialogues. The lines of its
    ``start`` are marked ``seeded`` in the file."""

    def __init__(self, pool: ModelPool, pair: Pair, number: int, start: Start, *, seed: int, exchanges: int) -> None:
        self.pair = pair
        self.number = number
        self._start = start
        self._seed = seed
        self._exchanges = exchanges
        turned = number % 2 == 1
        self._models = pair[::-1] if turned else pair
        # Which side begins says nothing about a model that talks to itself, so there the ids stay in order.
        self._ids = speaker_ids(pair)[::-1] if turned and pair[0] != pair[1] else speaker_ids(pair)
        self._children = [
            Child(pool.worker(model), seed_of(pair, seed, number, side), start.personas[side])
            for side, model in enumerate(self._models)
        ]
        self._heard: tuple[list[Utterance], list[Utterance]] = ([], [])
        self._acts: list[dict[str, Any]] = []
        for line in start.lines:
            self._say(line, seeded=True)

    @property
    def done(self) -> bool:
        return len(self._acts) >= 2 * self._exchanges

    @property
    def next_child(self) -> Child:
        return self._children[len(self._acts) % 2]

    @property
    def next_view(self) -> Sequence[Utterance]:
        return self._heard[len(self._acts) % 2]

    def take(self, answer: Answer) -> None:
        text = "" if answer.failed else without_thoughts(answer.text)
        marks: dict[str, Any] = {} if text == answer.text else {"raw_text": answer.text}
        if answer.info is not None and answer.info.thoughts:
            marks["thoughts"] = answer.info.thoughts
        if answer.info is not None and answer.info.turns_left_out:
            marks["turns_left_out"] = answer.info.turns_left_out
        if text:
            self._say(text, **marks)
        else:
            self._say(SILENCE_SHOWN, empty=True, **marks)

    def _say(self, text: str, **marks: Any) -> None:
        side = len(self._acts) % 2
        self._heard[side].append(Utterance("bot", text))
        self._heard[1 - side].append(Utterance("human", text))
        self._acts.append({"id": self._ids[side], "text": text, **marks})

    def as_json(self, metadata_path: str) -> dict[str, Any]:
        """The dialogue as a line of ParlAI's conversations format, with keys of our own that its reader passes over: an
        act may be ``seeded`` or ``empty``, and have ``raw_text``, ``thoughts`` and ``turns_left_out``. “your persona”
        is that of the second speaker, who hears the first line."""
        first, second = self._start.personas
        lines = [*((f"{PARTNERS} {sentence}", self._ids[0]) for sentence in first)]
        lines += [(f"{OWN} {sentence}", self._ids[1]) for sentence in second]
        acts = [{"id": CONTEXT, "text": text, "about": about} for text, about in lines]
        acts += [{"id": CONTEXT, "text": self._start.topic}] if self._start.topic else []
        return {
            "dialog": [self._acts[index : index + 2] for index in range(0, len(self._acts), 2)],
            "context": acts,
            "metadata_path": metadata_path,
            "dialogue_id": dialogue_id(self.pair, self._seed, self.number),
            "number": self.number,
            "entities": dict(zip(self._ids, self._models, strict=True)),
            "seed": self._seed,
            "start_id": self._start.start_id,
        }


OnDialogue = Callable[[DialogueFile], None]


def talk(
    pool: ModelPool,
    files: Sequence[DialogueFile],
    starts: Sequence[Start],
    settings: SelfChatSettings,
    on_load: Callable[[str], None] | None,
    on_dialogue: OnDialogue,
) -> dict[str, Problem]:
    """Load the models, make the dialogues that ``files`` lack, and let go; models that failed are returned, and why."""
    try:
        failed = _load(pool, on_load)
        # Hold to the ``batchsize`` that a model's options name: ParlAI's GPT-2 without a token for padding needs 1.
        for name, spec in pool.specs.items():
            own = spec.options.get("batchsize")
            worker = pool.worker(name)
            if own is not None:
                worker.max_batch = max(1, min(int(own), worker.max_batch))
            if worker.agent.opt.get("add_special_tokens") is False:
                worker.max_batch = 1
        left = [file for file in files if not failed.keys() & set(file.pair)]
        return failed | talk_in(pool, left, starts, settings, on_dialogue)
    finally:
        pool.close()


def _load(pool: ModelPool, on_load: Callable[[str], None] | None) -> dict[str, Problem]:
    failed: dict[str, Problem] = {}
    begun: list[str] = []

    def begin(name: str) -> None:
        begun.append(name)
        if on_load:
            on_load(name)

    while True:
        try:
            pool.load(begin)
            return failed
        except ZooError as error:
            failed[begun[-1]] = error.problems[0]
            del pool.specs[begun[-1]]


def talk_in(
    pool: ModelPool,
    files: Sequence[DialogueFile],
    starts: Sequence[Start],
    settings: SelfChatSettings,
    on_dialogue: OnDialogue,
) -> dict[str, Problem]:
    """As :func:`talk`, in a loaded pool. A model that fails takes its dialogues with it; the others go on."""
    failed: dict[str, Problem] = {}
    waiting = [(file, _dialogues(pool, file, starts, settings)) for file in files]
    asking = Asking(timeout_s=pool.timeout_s, retries=pool.retries)
    under_way: list[UnderWay] = []
    asked: dict[Child, UnderWay] = {}
    while True:
        waiting = _admit(pool, waiting, under_way)
        _ask_where_there_is_room(asking, under_way, asked)
        if not asked:
            return failed
        for child, answer in asking.answered():
            entry = asked.pop(child)
            if isinstance(answer, ModelFailed):
                failed[child.model] = answer.reason
            else:
                file, dialogue = entry
                dialogue.take(answer)
                if dialogue.done:
                    under_way.remove(entry)
                    file.add(dialogue.as_json(file.metadata_path.name))
                    on_dialogue(file)
        waiting = [entry for entry in waiting if not failed.keys() & set(entry[0].pair)]
        under_way = [entry for entry in under_way if not failed.keys() & set(entry[0].pair)]
        dropped = [child for child, (file, _) in asked.items() if failed.keys() & set(file.pair)]
        asking.forget(dropped)
        asked = {child: entry for child, entry in asked.items() if child not in dropped}


Waiting = tuple[DialogueFile, Iterator[BotDialogue]]
UnderWay = tuple[DialogueFile, BotDialogue]


def _dialogues(
    pool: ModelPool, file: DialogueFile, starts: Sequence[Start], settings: SelfChatSettings
) -> Iterator[BotDialogue]:
    missing = set(file.missing)
    for number, start in zip(range(settings.num_dialogues), starts_of(file.pair, starts, settings.seed), strict=False):
        if number in missing:
            yield BotDialogue(pool, file.pair, number, start, seed=settings.seed, exchanges=settings.exchanges)


def _admit(pool: ModelPool, waiting: Sequence[Waiting], under_way: list[UnderWay]) -> list[Waiting]:
    """Begin dialogues as long as no model gets more than it can answer at once, the pairs by turns; return what still
    waits."""
    load = Counter(name for _, dialogue in under_way for name in dialogue.pair)
    still = list(waiting)
    blocked: list[Waiting] = []
    while still:
        again: list[Waiting] = []
        for entry in still:
            file, dialogues = entry
            full = any(load[name] + 1 > 2 * _at_once(pool.worker(name)) for name in set(file.pair))
            if full:
                blocked.append(entry)
                continue
            dialogue = next(dialogues, None)
            if dialogue is None:
                continue
            load.update(dialogue.pair)
            under_way.append((file, dialogue))
            again.append(entry)
        still = again
    order = {id(entry): place for place, entry in enumerate(waiting)}
    return sorted(blocked, key=lambda entry: order[id(entry)])


def _at_once(worker: ModelWorker) -> int:
    return worker.max_batch * worker.threads


def _ask_where_there_is_room(asking: Asking, under_way: Sequence[UnderWay], asked: dict[Child, UnderWay]) -> None:
    """Ask for the next line of each dialogue whose model is free; the others wait here, and come as one batch."""
    asked_now = Counter(child.worker for child in asked)
    room: dict[ModelWorker, int] = {}
    free: dict[ModelWorker, list[UnderWay]] = {}
    for entry in under_way:
        child = entry[1].next_child
        room.setdefault(child.worker, _room(child.worker, asked_now[child.worker]))
        if child not in asked and room[child.worker] > 0:
            room[child.worker] -= 1
            free.setdefault(child.worker, []).append(entry)
            child.hear(entry[1].next_view)  # the most work of asking, done before requests wait for each other
    for worker, entries in free.items():
        with worker.together():
            for file, dialogue in entries:
                asking.ask(dialogue.next_child, dialogue.next_view)
                asked[dialogue.next_child] = (file, dialogue)


def _room(worker: ModelWorker, asked: int) -> int:
    """How many more a model can be asked: a thread at work has no room, unless replies begin and end one by one."""
    if hasattr(worker.agent, "continuous"):
        return _at_once(worker) - asked
    threads_at_work = -(-asked // worker.max_batch)
    return (worker.threads - threads_at_work) * worker.max_batch
