"""Files of dialogues that grow one by one, and that an interrupt at any moment leaves fit to go on with."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from parlai_humaneval.models.zoo.entries import ModelSpec
from parlai_humaneval.self_chat.metadata import differences, identity_of, new_metadata, this_run, write_whole
from parlai_humaneval.self_chat.naming import file_stem
from parlai_humaneval.self_chat.settings import Pair, SelfChatError, SelfChatSettings

LOCK = ".lock"
ANEW = "choose another folder, or make it anew with --force, which deletes what it holds"


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Make the folder, and keep a second run out of it.

    Raises:
        SelfChatError: it cannot be made or written, or another run is at work in it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / LOCK).open("w")
    except OSError as error:
        raise SelfChatError(f"{folder}: cannot be used as a folder for dialogues ({error.strerror})") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise SelfChatError(
                f"{folder}: another run is writing here; wait for it, or choose another folder"
            ) from error
        yield


class DialogueFile:
    """The dialogues of one pair: a line each, added when it is complete.

    Args:
        folder: where it stands, or is to stand.
        pair: the two models.
        settings: how its dialogues are made.
        specs: model → spec.
        fingerprint: of the file of beginnings.
    """

    def __init__(
        self,
        folder: Path,
        pair: Pair,
        settings: SelfChatSettings,
        specs: Mapping[str, ModelSpec],
        fingerprint: str,
    ) -> None:
        self.pair = pair
        self.path = folder / f"{file_stem(pair)}.jsonl"
        self.metadata_path = folder / f"{file_stem(pair)}.metadata"
        self.numbers: list[int] = []  # of the dialogues in the file, in its order
        self.added = 0
        self._settings = settings
        self._identity = identity_of(pair, settings, specs, fingerprint)

    @property
    def missing(self) -> list[int]:
        """Numbers of the dialogues that are still to be made."""
        there = set(self.numbers)
        return [number for number in range(self._settings.num_dialogues) if number not in there]

    def check(self) -> None:
        """Find out what is there already; nothing is changed.

        Raises:
            SelfChatError: it was made otherwise, is not known how, or has a line that is no dialogue of ours.
        """
        if not self.path.exists():
            return
        metadata = self._metadata()
        if metadata is None:
            raise SelfChatError(
                f"{self.path}: how it was made is not known, for {self.metadata_path.name} is not beside it or is damaged; "
                f"{ANEW}"
            )
        differing = differences(metadata.get("identity"), self._identity)
        if differing:
            raise SelfChatError(
                f"{self.path}: was made in another way ({'; '.join(differing)}); ask for the same as then, {ANEW}"
            )
        whole = self._whole_lines()
        self.numbers = [self._number(count, line) for count, line in enumerate(whole, start=1)]
        if len(set(self.numbers)) < len(self.numbers):
            raise SelfChatError(f"{self.path}: holds a dialogue twice; {ANEW}")

    def begin(self, *, force: bool) -> None:
        """Make the file ready to be added to: without what ``force`` throws away, and without half a line at its end."""
        if force:
            self.path.unlink(missing_ok=True)
            self.metadata_path.unlink(missing_ok=True)
            self.numbers = []
        metadata = self._metadata() if self.path.exists() else None
        metadata = metadata or new_metadata(self._identity, self.pair, self._settings)
        if self.missing:
            # The larger number counts: fewer asked for later takes nothing away.
            metadata["opt"]["num_dialogues"] = self._settings.num_dialogues
            metadata["runs"] = [*metadata["runs"], this_run()]
            write_whole(self.metadata_path, json.dumps(metadata, ensure_ascii=False, indent=1) + "\n")
        with self.path.open("ab") as file:
            file.truncate(sum(len(line) for line in self._whole_lines()))

    def add(self, dialogue: Mapping[str, Any]) -> None:
        """Add a complete dialogue; when this returns, it is on the disk."""
        line = json.dumps(dialogue, ensure_ascii=False) + "\n"
        # A half of a surrogate pair, and the line ends that some readers know besides "\n", are written as escapes.
        with self.path.open("ab") as file:
            file.write(_escaped(line).encode())
            file.flush()
            os.fsync(file.fileno())
        self.numbers.append(int(dialogue["number"]))
        self.added += 1

    def put_in_order(self) -> None:
        """Sort the dialogues by number: those that were begun together may be finished in any order."""
        if self.numbers == sorted(self.numbers):
            return
        lines = dict(zip(self.numbers, self._whole_lines(), strict=True))
        self.numbers.sort()
        write_whole(self.path, "".join(lines[number].decode() for number in self.numbers))

    def _whole_lines(self) -> list[bytes]:
        return [line for line in self.path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]

    def _metadata(self) -> dict[str, Any] | None:
        try:
            read = json.loads(self.metadata_path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return read if isinstance(read, dict) and {"identity", "runs", "opt"} <= set(read) else None

    def _number(self, count: int, line: bytes) -> int:
        try:
            return int(json.loads(line)["number"])
        except (ValueError, KeyError, TypeError) as error:
            raise SelfChatError(f"{self.path}, line {count}: is not a dialogue of this file; {ANEW}") from error


def _escaped(line: str) -> str:
    ends = ("\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029")
    for end in ends:  # ParlAI's reader splits at each of them
        line = line.replace(end, f"\\u{ord(end):04x}")
    return line
