"""Merges shards of self-chats into the files that a run without shards would have made."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parlai_humaneval.self_chat import files as dialogue_files
from parlai_humaneval.self_chat.files import count
from parlai_humaneval.self_chat.settings import Pair, SelfChatError, Shard, shard_of

FEW = 10


@dataclass(frozen=True)
class Merged:
    """The files that were written, and ``missing``: the name of each that has holes → the numbers that it lacks."""

    files: list[dialogue_files.GeneratedFile]
    missing: dict[str, list[int]]


@dataclass(frozen=True)
class _Part:
    """The dialogues of one pair in one shard. ``identity``: how they were made, whichever shard they are in."""

    path: Path
    shard: Shard
    pair: Pair
    identity: Mapping[str, Any]
    metadata: Mapping[str, Any]
    lines: Mapping[int, bytes]


def merge(folders: Sequence[Path], out: Path, *, allow_missing: bool = False, force: bool = False) -> Merged:
    """Write the dialogues of all shards (``folders``, or what they hold) into ``out``, a file a pair, byte for byte
    those of a run without shards. ``force``: replace files that are there already and differ; an earlier merge of some
    of these is added to without it. SelfChatError for shards that do not belong together, are there twice, missing or
    unfinished."""
    shards = [shard for folder in folders for shard in _shards_in(folder)]
    if out.resolve() in [shard.resolve() for shard in shards]:
        raise SelfChatError("is a shard itself", where=out, try_="choose another --out")
    with contextlib.ExitStack() as held:
        for shard in dict.fromkeys(shards):
            if os.access(shard, os.W_OK):  # nobody is at work where nobody can write
                held.enter_context(dialogue_files.locked(shard))
        parts = [part for folder in shards for part in _parts_in(folder)]
        if not parts:
            raise SelfChatError("no dialogue is there yet", where=f"{', '.join(map(str, shards))}")
        _check_counts(parts)
        pairs = {pair: [part for part in parts if part.pair == pair] for pair in dict.fromkeys(p.pair for p in parts)}
        for of_pair in pairs.values():
            first = of_pair[0]
            for other in of_pair:
                differing = dialogue_files.differences(first.identity, other.identity)
                if differing:
                    raise SelfChatError(
                        f"{first.path} and {other.path} were generated with different settings ({'; '.join(differing)}; "
                        "“there” is the first, “now” the second)",
                        try_="generate one of them again",
                    )
        numbers = {pair: {number for part in of_pair for number in part.lines} for pair, of_pair in pairs.items()}
        holes = {pair: sorted({*range(_wanted(pairs[pair]))} - there) for pair, there in numbers.items()}
        missing = {pair: lacking for pair, lacking in holes.items() if lacking}
        if missing and not allow_missing:
            raise _told(missing, parts)
        held.enter_context(dialogue_files.locked(out))
        if not force:
            for pair, of_pair in pairs.items():
                path = out / f"{dialogue_files.file_stem(pair)}.jsonl"
                same = not path.exists() or path.read_bytes() == _joined(of_pair).encode()
                if not same and not _is_earlier_merge(path, of_pair):
                    what = "already exists and differs"
                    raise SelfChatError(what, where=path, try_="choose another --out, or replace it with --force")
        files = [_write(out, of_pair) for of_pair in pairs.values()]
    return Merged(files, {f"{dialogue_files.file_stem(pair)}.jsonl": lacking for pair, lacking in missing.items()})


def _shards_in(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise SelfChatError("is not a folder", where=folder, try_="name the folders that contain the shards")
    if _is_shard(folder):
        return [folder]
    inside = sorted(path for path in folder.iterdir() if path.is_dir() and _is_shard(path))
    if not inside:
        what = "holds no shard"
        raise SelfChatError(what, where=folder, try_="make shards by `parlai-humaneval self-chat --shard 1/4`")
    return inside


def _is_shard(folder: Path) -> bool:
    known = (dialogue_files.read_metadata(path) for path in folder.glob("*.metadata"))
    named = re.fullmatch(r"shard-\d+-of-\d+", folder.name) is not None
    return named or any(metadata and dialogue_files.SHARD in metadata["identity"] for metadata in known)


def _parts_in(folder: Path) -> list[_Part]:
    parts = []
    for path in sorted(folder.glob("*.jsonl")):
        beside = path.with_name(f"{path.stem}.metadata")
        metadata = dialogue_files.read_metadata(beside)
        if metadata is None or dialogue_files.SHARD not in metadata["identity"]:
            what = f"belongs to no shard, or {beside.name} next to it is damaged"
            raise SelfChatError(what, where=path, try_="move it elsewhere")
        identity = dict(metadata["identity"])
        shard = shard_of(identity.pop(dialogue_files.SHARD))
        first, second = identity["pair"]
        lines = dict(zip(dialogue_files.numbers_in(path), dialogue_files.whole_lines(path), strict=True))
        parts.append(_Part(path, shard, (first, second), identity, metadata, lines))
    return parts


def _check_counts(parts: Sequence[_Part]) -> None:
    first = parts[0]
    for part in parts:
        if part.shard.of != first.shard.of:
            raise SelfChatError(
                f"{first.path.parent} belongs to {first.shard.of} shards, and {part.path.parent} to {part.shard.of}: "
                "they do not fit together",
                try_="name the folders of one of the two",
            )
    there: dict[tuple[Shard, Pair], Path] = {}
    for part in parts:
        strangers = [number for number in part.lines if number % part.shard.of != part.shard.number - 1]
        if strangers:
            what = f"dialogue {strangers[0]} does not belong to shard {part.shard}"
            raise SelfChatError(what, where=part.path, try_="generate the shard again with --force")
        other = there.setdefault((part.shard, part.pair), part.path)
        if other != part.path:
            what = f"shard {part.shard} appears twice: {other} and {part.path}"
            raise SelfChatError(what, try_="leave one of them out")


def _wanted(parts: Iterable[_Part]) -> int:
    return max(int(part.metadata["opt"]["num_dialogues"]) for part in parts)


def _told(missing: Mapping[Pair, Sequence[int]], parts: Sequence[_Part]) -> SelfChatError:
    count = parts[0].shard.of
    lacking = sorted({number % count + 1 for holes in missing.values() for number in holes})
    there = {part.shard.number: part.path.parent for part in parts}
    told = [f"{dialogue_files.file_stem(pair)}.jsonl lacks {_some(holes)}" for pair, holes in missing.items()]
    shards = [f"{Shard(n, count)} ({'unfinished' if n in there else 'missing'})" for n in lacking]
    commands = [
        command
        for number in lacking
        for command in _commands(parts, Shard(number, count), there.get(number, parts[0].path.parent).parent)
    ]
    return SelfChatError(
        f"{'; '.join(told)} (shards of these dialogues: {', '.join(shards)})",
        try_="generate the missing dialogues with the same --zoo-file as the others, and merge again (or merge the "
        "available dialogues with --allow-missing):\n"
        + "\n".join(f"  {line}" for line in commands[:FEW])
        + (f"\n  and {len(commands) - FEW} more" if len(commands) > FEW else ""),
    )


def _some(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:FEW]))
    more = f" and {len(numbers) - FEW} more" if len(numbers) > FEW else ""
    return f"{len(numbers)} dialogue{'s'[: len(numbers) > 1]} (number {shown}{more})"


def _commands(parts: Sequence[_Part], shard: Shard, out: Path) -> list[str]:
    settings = parts[0].metadata["opt"]
    flags = {"num_dialogues": _wanted(parts), "exchanges": settings["exchanges"], "start": settings["start"]}
    flags |= {key: settings[key] for key in ("start_file", "context_kind", "seed")}
    plain = {"start": "hi", "start_file": "", "context_kind": "jsonl", "seed": 0}
    words = [
        word
        for key, value in flags.items()
        if value != plain.get(key)
        for word in (f"--{key.replace('_', '-')}", str(value))
    ]
    ends = [*words, "--shard", str(shard), "--out", str(out)]
    return [shlex.join(["parlai-humaneval", "self-chat", *models, *ends]) for models in _models(parts)]


def _models(parts: Sequence[_Part]) -> list[list[str]]:
    pairs = list(dict.fromkeys(part.pair for part in parts))
    alone = [first for first, second in pairs if first == second]
    several = [pair for pair in pairs if pair[0] != pair[1]]
    named = [["--models", ",".join(alone)]] if alone else []
    firsts = Counter(dict.fromkeys((name for pair in several for name in pair), 0))
    firsts.update(first for first, _ in several)
    order = [name for name, _ in firsts.most_common()]
    if set(itertools.combinations(order, 2)) == set(several):
        return [*named, *([["--models", ",".join(order), "--pairs"]] if several else [])]
    return [*named, *(["--models", ",".join(pair), "--pairs"] for pair in several)]


def _joined(parts: Iterable[_Part]) -> str:
    lines = {number: line for part in parts for number, line in part.lines.items()}
    return "".join(lines[number].decode() for number in sorted(lines))


def _is_earlier_merge(path: Path, parts: Sequence[_Part]) -> bool:
    metadata = dialogue_files.read_metadata(path.with_name(f"{path.stem}.metadata"))
    if metadata is None or dialogue_files.differences(metadata["identity"], parts[0].identity):
        return False
    lines = {line for part in parts for line in part.lines.values()}
    is_merge = all(dialogue_files.SHARD in run for run in metadata["runs"])
    return is_merge and lines.issuperset(path.read_bytes().splitlines(keepends=True))


def _write(out: Path, parts: Sequence[_Part]) -> dialogue_files.GeneratedFile:
    first = parts[0]
    path = out / f"{dialogue_files.file_stem(first.pair)}.jsonl"
    runs = [{**run, dialogue_files.SHARD: str(part.shard)} for part in parts for run in part.metadata["runs"]]
    metadata = {
        **first.metadata,
        "date": min(part.metadata["date"] for part in parts),
        "opt": {**first.metadata["opt"], "num_dialogues": _wanted(parts)},
        "identity": first.identity,
        "runs": sorted(runs, key=lambda run: str(run["date"])),
    }
    path.unlink(missing_ok=True)  # never leave dialogues next to the metadata of others
    told = json.dumps(metadata, ensure_ascii=False, indent=1) + "\n"
    dialogue_files.write_whole(path.with_name(f"{path.stem}.metadata"), told)
    dialogue_files.write_whole(path, _joined(parts))
    return count(path, first.pair, generated=0)
