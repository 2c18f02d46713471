"""Sources of finished dialogues: files, folders, live tasks, and samples that come with this project.

In the samples, people wrote their part for this project, and the packaged models answered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from parlai_humaneval._util.data_files import DataError, packaged, read_text, text_lines
from parlai_humaneval._util.errors import choose_from
from parlai_humaneval.dialogues import PACKAGED
from parlai_humaneval.dialogues.chats import EMPTY, FORMS, SHAPES
from parlai_humaneval.dialogues.dialogue import HUMAN, PARTNERS, Dialogue, SaidLine
from parlai_humaneval.dialogues.files import SHARED_ID, load_dialogues
from parlai_humaneval.schema.records import DialogueRecord, ReplayedRating, Turn

PERSON, BOT = "human", "bot"  # The speakers of a dialogue from a live task
TOGETHER = "+"  # Joins the names of models that speak as one, with a shared history
ID_IN_FILE = "id_in_file"  # Setting of a dialogue whose id begins with the name of its file
NAMED = 3  # a remark names at most this many files


def load_sources(
    entries: Sequence[Any],
    read_task: Callable[[str], Sequence[DialogueRecord]],
    samples: Callable[[], Sequence[Dialogue]],
) -> list[Dialogue]:
    """The dialogues of all entries, in their order. ``entries``: paths of files or of folders (every ``*.jsonl`` in
    them, else every ``*.json`` or ``*.csv``); ``{file: …, entities: …}``, where ``entities`` says who the speakers are, a
    name for both or speaker → name, with ``form`` (:data:`.chats.FORMS`) and ``system`` (true: system messages are
    context) where they are needed; ``{task: NAME}`` of a live task, with ``setting`` of those settings of its technique
    alone; or :data:`PACKAGED`. ``read_task``: its records, by the task's name. ``samples``: the meaning of :data:`PACKAGED`.
    Raises DataError: an entry that is none of these, a file that cannot be used, nothing at all, or an id that two of
    them have."""
    known: dict[str, Dialogue] = {}
    names: dict[str, Path] = {}
    for entry in entries:
        found = samples() if entry == PACKAGED else _of_entry(entry, read_task, names)
        for _, group in groupby(found, key=lambda dialogue: dialogue.source):
            for dialogue in _distinct(list(group), known, names):
                if dialogue.dialogue_id in known:
                    raise DataError(
                        f"two dialogues have the id {dialogue.dialogue_id}: in {known[dialogue.dialogue_id].place}, and in "
                        f"{dialogue.place}",
                        try_="name each file once, and give every dialogue its own dialogue_id",
                    )
                known[dialogue.dialogue_id] = dialogue
    return list(known.values())


def _distinct(found: list[Dialogue], known: Mapping[str, Dialogue], names: dict[str, Path]) -> list[Dialogue]:
    """The dialogues of a file; with its name before each id where others of another file have the same ids."""
    both = [(one, known[one.dialogue_id]) for one in found if one.line_number and one.dialogue_id in known]
    if not both or any(a.source == b.source or (a.lines, a.models) == (b.lines, b.models) for a, b in both):
        return found
    name = _called(Path(found[0].source), names)
    return [
        replace(one, dialogue_id=f"{name}-{one.dialogue_id}", settings={**one.settings, ID_IN_FILE: one.dialogue_id})
        for one in found
    ]


def _called(file: Path, names: dict[str, Path]) -> str:
    """What dialogues of a file are called by: as much of its path as no other file in ``names`` is called by."""
    path = file.absolute()
    parts = path.with_suffix("").parts
    called = ("-".join(parts[-count:]) for count in range(1, len(parts) + 1))
    return next((name for name in called if names.setdefault(name, path) == path), str(path))


def _of_entry(
    entry: Any, read_task: Callable[[str], Sequence[DialogueRecord]], names: dict[str, Path]
) -> Iterator[Dialogue]:
    if isinstance(entry, (str, Path)):
        yield from _of_path(entry, names)
    elif isinstance(entry, Mapping) and "task" in entry and set(entry) <= {"task", "setting"}:
        task, wanted = str(entry["task"]), entry.get("setting", [])
        settings = [wanted] if isinstance(wanted, str) else list(wanted)
        records = [record for record in read_task(task) if not settings or record.setting in settings]
        found = [dialogue for record in records for dialogue in dialogues_of(record)]
        if not found:
            of = f" of the setting {' or '.join(settings)}" if settings else ""
            raise DataError(f"task {task!r} has no dialogue{of} with an answered turn", try_="collect some first")
        yield from (replace(dialogue, source=dialogue.source or task) for dialogue in found)
    elif isinstance(entry, Mapping) and "file" in entry and set(entry) <= {"file", "entities", "form", "system"}:
        given = entry.get("entities")
        if isinstance(given, Mapping) and all(isinstance(name, str) for name in given.values()):
            given = {str(speaker): name for speaker, name in given.items()}
        elif given is not None and not isinstance(given, str):
            what = f"entities of {entry['file']} cannot be {given!r}"
            raise DataError(what, where="dialogues", try_="give a name, or speaker: name, …")
        form = entry.get("form", "auto")
        if form not in FORMS:
            what = f"form of {entry['file']} cannot be {form!r}"
            raise DataError(what, where="dialogues", **choose_from(form, FORMS))
        yield from _of_path(entry["file"], names, entities=given, form=form, system=bool(entry.get("system")))
    else:
        raise DataError(f"{entry!r} is not understood", where="dialogues", try_=f"expected {SHAPES['entry']}")


def _of_path(name: str | Path, names: dict[str, Path], **how: Any) -> Iterator[Dialogue]:
    path = Path(name).expanduser()
    endings = ("*.jsonl", "*.json", "*.csv")
    files = next(filter(None, (sorted(path.glob(one)) for one in endings)), []) if path.is_dir() else [path]
    if not files:
        what = "there is no *.jsonl, *.json or *.csv file in this folder"
        raise DataError(what, where=path, try_="name the files themselves")
    for file in files:
        yield from load_dialogues(file, name=_called(file, names), **how)


def taken_as(dialogues: Sequence[Dialogue]) -> list[str]:
    """A remark on each file of another project: which form it was taken to be in, who speaks, how many turns were empty;
    and on each file whose ids got its name. Of more than ``NAMED`` files, there is one remark."""
    files: dict[tuple[str, str], list[Dialogue]] = {}
    of_form = Counter(form for _, form in dict.fromkeys((one.source, one.format) for one in dialogues))
    for dialogue in dialogues:
        if form := dialogue.format:
            place = dialogue.source if of_form[form] <= NAMED else f"{of_form[form]:,} files"
            files.setdefault((place, form), []).append(dialogue)
    told = []
    for (source, format), found in files.items():
        speakers: dict[str, dict[str, None]] = {}
        for dialogue in found:
            for who in dialogue.speakers:
                speakers.setdefault(who, {})[dialogue.entities.get(who, "?")] = None
        empty = sum(dialogue.settings.get("empty_turns", 0) for dialogue in found)
        hidden = ((name, sum(one.settings.get(name, 0) for one in found)) for name in ("pictures", "tool_messages"))
        left_out = ", ".join(f"{name.replace('_', ' ')} ({count:,})" for name, count in hidden if count)
        some = {who: " or ".join(names) for who, names in speakers.items() if len(names) <= NAMED}
        called = {who: some.get(who, f"{len(names):,} names") for who, names in speakers.items()}
        named = ", ".join(who if name == who else f"{who} = {name}" for who, name in called.items())
        told.append(
            f"{source}: {len(found):,} dialogue{'s' * (len(found) > 1)}, {format} ({named})"
            + (f"; turns without text, shown as “{EMPTY}” between others: {empty:,}" if empty else "")
            + (f"; raters do not see the {left_out}" if left_out else "")
        )
    for setting, why in (
        (SHARED_ID, "models share ids, so the model's name is added to each"),
        (ID_IN_FILE, "another file has the same ids, so the file's name is added before each"),
    ):
        ids = {one.source: one.dialogue_id for one in dialogues if setting in one.settings}
        if len(ids) > NAMED:
            ids = {f"{len(ids):,} files": f"such as {next(iter(ids.values()))}"}
        told += [f"{place}: {why} ({example})" for place, example in ids.items()]
    return told


def dialogues_of(record: DialogueRecord) -> list[Dialogue]:
    """What was said in a live dialogue, as far as its turns are complete; with what its own rater was asked and
    answered. Speakers are ``human`` and ``bot``. Several models that answered behind one partner, with a shared
    history, are one entity, “a+b”; where each went on with its own replies, there is a dialogue for each, in the order
    in which they stood side by side. These share one ``rating``. The context is what the person was told, as the bot
    would hear it: their sentences are its “partner's persona”. What only a bot was told is left out, as its rater did
    not see it."""
    turns = record.complete_turns
    if not turns:
        return []
    rating = ReplayedRating(**{name: getattr(record, name) for name in ReplayedRating.model_fields})
    if not any(turn.continued_each for turn in turns):
        name = TOGETHER.join(model.name for model in record.models)
        said = [
            _said(turn, "candidate_id", turn.continued) if turn.written is None else SaidLine(BOT, turn.written)
            for turn in turns
        ]
        return [_dialogue(record, rating, record.dialogue_id, name, said)]
    sides = sorted(turns[0].candidates, key=lambda candidate: (candidate.failed, candidate.position))
    return [
        _dialogue(
            record,
            rating,
            f"{record.dialogue_id}:{side.model}",
            side.model,
            [_said(turn, "model", side.model) for turn in turns],
        )
        for side in sides
    ]


def _said(turn: Turn, name: Literal["candidate_id", "model"], wanted: str | None) -> SaidLine:
    """The reply of which ``name`` is as ``wanted``."""
    reply = next((reply for reply in turn.candidates if getattr(reply, name) == wanted and reply.text.strip()), None)
    return SaidLine(BOT, EMPTY) if reply is None else SaidLine(BOT, reply.text, tuple(reply.images))


def _dialogue(
    record: DialogueRecord, rating: ReplayedRating, dialogue_id: str, entity: str, replies: Sequence[SaidLine]
) -> Dialogue:
    lines = [SaidLine(line.speaker, line.text) for line in record.context.opening]
    if lines and lines[-1].speaker == PERSON:
        lines.pop()  # it was the rater's given first message, and is in the first turn
    for turn, reply in zip(record.complete_turns, replies, strict=True):
        lines += [SaidLine(PERSON, turn.human_text, tuple(turn.human_images)), reply]
    return Dialogue(
        dialogue_id,
        tuple(lines),
        (*(f"{PARTNERS} {sentence}" for sentence in record.context.persona), *filter(None, [record.context.topic])),
        0,
        entities={PERSON: HUMAN, BOT: entity},
        source=record.task_name,
        settings=dict(record.settings),
        rating=rating,
    )


MODELS = ("eliza", "retrieval")  # Those that speak in the samples


def between_people() -> list[Dialogue]:
    """Dialogues of two people."""
    return load_dialogues(packaged("human_dialogues.jsonl"))


def with_a_model() -> list[Dialogue]:
    """Dialogues of a person with one of :data:`MODELS`, six with each."""
    return load_dialogues(packaged("sample_chats.jsonl"))


def rated() -> list[Dialogue]:
    """Dialogues of a person with both :data:`MODELS` behind one partner: the good replies were selected at every turn."""
    lines = text_lines(read_text(packaged("sample_ratings.jsonl")))
    records = [DialogueRecord.model_validate_json(line) for line in lines if line.strip()]
    return [dialogue for record in records for dialogue in dialogues_of(record)]
