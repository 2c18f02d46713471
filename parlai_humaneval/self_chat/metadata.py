"""ParlAI's metadata file beside a file of dialogues: how they were made, and whether that is what is asked now."""

from __future__ import annotations

import datetime
import json
import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from parlai_humaneval.models.zoo.entries import ModelSpec
from parlai_humaneval.self_chat.naming import speaker_ids
from parlai_humaneval.self_chat.settings import Pair, SelfChatSettings

FORMAT_VERSION = "0.1"
"""Of ParlAI's metadata (``parlai.utils.conversations.Metadata``)."""
LIBRARIES = ("parlai-humaneval", "parlai", "torch", "transformers")


def identity_of(
    pair: Pair, settings: SelfChatSettings, specs: Mapping[str, ModelSpec], fingerprint: str
) -> dict[str, Any]:
    """All that decides what the dialogues of a file say, as JSON holds it.

    The number of dialogues is no part of it: more of them leave those that are there as they are. A file of
    beginnings counts by its contents, not by its place.
    """
    identity = {
        "pair": list(pair),
        "settings": settings.model_dump(exclude={"num_dialogues", "start_file"}),
        "start_file_sha256": fingerprint,
        "models": {name: specs[name].options for name in dict.fromkeys(pair)},
    }
    plain: dict[str, Any] = json.loads(json.dumps(identity, default=str))
    return plain


def new_metadata(identity: Mapping[str, Any], pair: Pair, settings: SelfChatSettings) -> dict[str, Any]:
    """The keys that ParlAI's reader wants, and ours: ``identity``, and ``runs``, which a run adds itself to."""
    return {
        "date": str(datetime.datetime.now()),
        "opt": {"task": "self_chat", **settings.model_dump()},
        "self_chat": pair[0] == pair[1],
        "speakers": list(speaker_ids(pair)),
        "version": FORMAT_VERSION,
        "identity": dict(identity),
        "runs": [],
    }


def this_run() -> dict[str, str]:
    """When this is, and the versions that a generator's words may hang on."""
    return {"date": str(datetime.datetime.now()), "python": platform.python_version(), **_versions()}


def _versions() -> dict[str, str]:
    found = {}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:  # run from a checkout that is not installed
            found[library] = "unknown"
    return found


def differences(old: Any, new: Any, key: str = "") -> list[str]:
    """What differs, as “exchanges: 6 there, 4 now”."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        keys = dict.fromkeys([*old, *new])
        return [found for name in keys for found in differences(old.get(name), new.get(name), _joined(key, str(name)))]
    return [] if old == new else [f"{key}: {_shown(old)} there, {_shown(new)} now"]


def _joined(key: str, name: str) -> str:
    return name if key in ("", "settings") else f"{key}.{name}"


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
