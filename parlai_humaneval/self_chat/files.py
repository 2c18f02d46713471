"""Files of dialogues that can be continued after an interrupt at any moment, each with its metadata."""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import hashlib
import json
import logging
import os
import platform
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from parlai_humaneval._util.files import json_object_in
from parlai_humaneval.models.zoo.entries import ModelSpec
from parlai_humaneval.self_chat.settings import WHOLE, Pair, SelfChatError, SelfChatSettings, Shard, shard_of


class GeneratedFile(BaseModel, extra="forbid", frozen=True):
    """One file of dialogues, all counted; ``generated``: of this run. ``repeated``: lines by the same speaker;
    ``empty`` after all tries; ``equal_dialogues``: to another before."""

    path: Path
    models: Pair
    dialogues: int
    generated: int
    replies: int
    repeated: int
    empty: int
    equal_dialogues: int


def count(path: Path, pair: Pair, generated: int) -> GeneratedFile:
    found = Counter(dialogues=0, replies=0, repeated=0, empty=0, equal_dialogues=0)
    seen: set[tuple[str, ...]] = set()
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            acts = [act for exchange in json.loads(line)["dialog"] for act in exchange]
            texts = tuple(act["text"] for act in acts)
            found.update(dialogues=1, equal_dialogues=texts in seen)
            seen.add(texts)
            said: set[tuple[str, str]] = set()
            for act in acts:
                words, is_empty, is_own = (act["id"], act["text"]), bool(act.get("empty")), not act.get("seeded")
                found.update(replies=is_own, empty=is_own and is_empty)
                found.update(repeated=words in said and is_own and not is_empty)
                said.add(words)
    return GeneratedFile(path=path, models=pair, generated=generated, **found)


BETWEEN = "--"
LONGEST = 80
"""Characters of a model's name in a file's name: two of them and an ending fit into the 255 that file systems take."""


def file_stem(pair: Pair) -> str:
    """``NAME`` of a self-chat and ``A--B`` of a pair; with other characters replaced, a part of the hash is added."""
    first, second = (_safe(name) for name in pair)
    return first if pair[0] == pair[1] else f"{first}{BETWEEN}{second}"


def _safe(name: str) -> str:
    plain = re.sub(r"-{2,}", "-", re.sub(r"[^A-Za-z0-9._-]", "_", name)).strip(".-")[:LONGEST]
    return plain if plain == name else f"{plain or 'model'}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def speaker_ids(pair: Pair) -> tuple[str, str]:
    first, second = pair
    return (f"{first}_1", f"{first}_2") if first == second else pair


def dialogue_id(pair: Pair, seed: int, number: int) -> str:
    return f"{file_stem(pair)}:{seed}:{number}"


def seed_of(pair: Pair, seed: int, number: int, side: int) -> int:
    """The chance of one side of one dialogue. It depends on nothing else, such as other dialogues of the same run."""
    named = f"{pair[0]}\n{pair[1]}\n{seed}\n{number}\n{side}"
    return int.from_bytes(hashlib.sha256(named.encode()).digest()[:4], "big")


logger = logging.getLogger(__name__)

LOCK = ".lock"
_LINE_ENDS = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
"""ParlAI's reader splits at each."""
ANEW = "choose another folder, or replace it with --force, which deletes its contents"


class OtherDialogues(SelfChatError):
    """What a folder already has cannot be added to; the error says how a user of the command replaces it."""


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Make the folder, and keep a second run out of it; a SelfChatError where it cannot be, or one is at work in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / LOCK).open("w")
    except OSError as error:
        raise SelfChatError(f"cannot be used as a folder for dialogues ({error.strerror})", where=folder) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            what = "another run is writing here"
            raise SelfChatError(what, where=folder, try_="wait for it, or choose another folder") from error
        except OSError:  # some file systems of clusters know no locks
            logger.warning("%s: its file system has no locks; make sure that no two runs write here at once", folder)
        yield


class DialogueFile:
    """The dialogues of one pair in ``folder``: a line each, added when it is complete."""

    def __init__(
        self,
        folder: Path,
        pair: Pair,
        settings: SelfChatSettings,
        specs: Mapping[str, ModelSpec],
        fingerprint: str,
        shard: Shard | None = None,
    ) -> None:
        self.pair = pair
        self.path = folder / f"{file_stem(pair)}.jsonl"
        self.metadata_path = folder / f"{file_stem(pair)}.metadata"
        self.numbers: list[int] = []  # of the dialogues in the file, in its order
        self.added = 0
        self._settings = settings
        self._shard = shard or WHOLE
        # All that decides what the dialogues of a file say, but for their number, as JSON holds it.
        identity: dict[str, Any] = {
            "pair": list(pair),
            "settings": settings.model_dump(exclude={"num_dialogues", "start_file"}),
            "start_file_sha256": fingerprint,
            "models": {name: specs[name].options for name in dict.fromkeys(pair)},
        }
        if shard:
            identity[SHARD] = str(shard)
        self._identity: dict[str, Any] = json.loads(json.dumps(identity, default=str))

    @property
    def missing(self) -> list[int]:
        there = set(self.numbers)
        return [number for number in self._shard.numbers(self._settings.num_dialogues) if number not in there]

    @property
    def wanted(self) -> int:
        """How many dialogues it has at the end; those of an earlier run that asked for more count."""
        return max(len(self._shard.numbers(self._settings.num_dialogues)), len(self.numbers))

    def check(self) -> None:
        """Check existing files. Raises SelfChatError if a file was made otherwise, or is not one of ours."""
        if not self.path.exists():
            self._check_beside()
            return
        metadata = read_metadata(self.metadata_path)
        if metadata is None:
            what = f"its settings are unknown, because {self.metadata_path.name} next to it is missing or damaged"
            raise OtherDialogues(what, where=self.path, try_=ANEW)
        differing = differences(metadata.get("identity"), self._identity)
        if differing:
            what = f"was generated with other settings ({'; '.join(differing)})"
            raise OtherDialogues(what, where=self.path, try_=f"use the same options as before, {ANEW}")
        self.numbers = numbers_in(self.path)

    def _check_beside(self) -> None:
        if SHARD not in self._identity:
            return
        for path in sorted(self.path.parent.parent.glob(f"*/{self.metadata_path.name}")):
            identity = dict((read_metadata(path) or {}).get("identity", {}))
            if SHARD not in identity:
                continue
            other = shard_of(identity.pop(SHARD))
            differing = differences(identity, {key: value for key, value in self._identity.items() if key != SHARD})
            if other.of != self._shard.of:
                differing = [f"shards: {other.of} there, {self._shard.of} now", *differing]
            if differing:
                raise SelfChatError(
                    f"is shard {other} of dialogues with other settings ({'; '.join(differing)}), so shard "
                    f"{self._shard} could not be merged with it",
                    where=path.parent,
                    try_="use the same options as before, or choose another folder",
                )

    def begin(self, *, force: bool) -> None:
        """Make the file ready to be added to: without what ``force`` throws away, and without half a line at its end."""
        if force:
            self.path.unlink(missing_ok=True)
            self.metadata_path.unlink(missing_ok=True)
            self.numbers = []
        metadata = read_metadata(self.metadata_path) if self.path.exists() else None
        known = metadata is not None
        metadata = metadata or {
            "date": str(datetime.datetime.now()),
            "opt": {"task": "self_chat", **self._settings.model_dump()},
            "self_chat": self.pair[0] == self.pair[1],
            "speakers": list(speaker_ids(self.pair)),
            "version": FORMAT_VERSION,
            "identity": dict(self._identity),
            "runs": [],
        }
        if self.missing or not known:  # a shard of few dialogues may have none, and is finished all the same
            # The larger number counts: fewer asked for later takes nothing away.
            metadata["opt"]["num_dialogues"] = self._settings.num_dialogues
            run = {"date": str(datetime.datetime.now()), "python": platform.python_version()}
            for library in LIBRARIES:
                run[library] = "unknown"
                with contextlib.suppress(PackageNotFoundError):  # run from a checkout that is not installed
                    run[library] = version(library)
            metadata["runs"] = [*metadata["runs"], run]
            write_whole(self.metadata_path, json.dumps(metadata, ensure_ascii=False, indent=1) + "\n")
        with self.path.open("ab") as file:
            file.truncate(sum(len(line) for line in whole_lines(self.path)))

    def add(self, dialogue: Mapping[str, Any]) -> None:
        """Add a complete dialogue; when this returns, it is on the disk."""
        line = json.dumps(dialogue, ensure_ascii=False) + "\n"
        line = _LINE_ENDS.sub(lambda end: f"\\u{ord(end[0]):04x}", line)
        with self.path.open("ab") as file:
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())
        self.numbers.append(int(dialogue["number"]))
        self.added += 1

    def put_in_order(self) -> None:
        if self.numbers == sorted(self.numbers):
            return
        lines = dict(zip(self.numbers, whole_lines(self.path), strict=True))
        self.numbers.sort()
        write_whole(self.path, "".join(lines[number].decode() for number in self.numbers))


def whole_lines(path: Path) -> list[bytes]:
    return [line for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]


def numbers_in(path: Path) -> list[int]:
    numbers = []
    for count, line in enumerate(whole_lines(path), start=1):
        try:
            numbers.append(int(json.loads(line)["number"]))
        except (ValueError, KeyError, TypeError) as error:
            raise OtherDialogues("is not a dialogue of this file", where=f"{path}, line {count}", try_=ANEW) from error
    if len(set(numbers)) < len(numbers):
        raise OtherDialogues("holds a dialogue twice", where=path, try_=ANEW)
    return numbers


def read_metadata(path: Path) -> dict[str, Any] | None:
    read = json_object_in(path)
    return read if {"identity", "runs", "opt"} <= set(read) else None


FORMAT_VERSION = "0.1"
SHARD = "shard"
LIBRARIES = ("parlai-humaneval", "parlai", "torch", "transformers")


def differences(old: Any, new: Any, key: str = "") -> list[str]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        above = "" if key in ("", "settings") else f"{key}."
        keys = dict.fromkeys([*old, *new])
        return [found for name in keys for found in differences(old.get(name), new.get(name), f"{above}{name}")]
    return [] if old == new else [f"{key}: {_shown(old)} there, {_shown(new)} now"]


def _shown(value: Any) -> str:
    return "nothing" if value is None or value == "" else json.dumps(value, ensure_ascii=False)


def write_whole(path: Path, text: str) -> None:
    """Put ``text`` into ``path`` in one step: a stop in the middle leaves the old file."""
    draft = path.with_name(f".{path.name}.draft")
    with draft.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
