"""What ParlAI's metadata file, beside a file of conversations, tells of who speaks in them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from parlai_humaneval.protocol.materials.files import MaterialError, read_text

_KEPT = ("task", "model", "model_file", "partner_model_file", "models", "seed", "selfchat_max_turns")
"""Options that say how the conversations were made; ParlAI stores a hundred."""


@dataclass(frozen=True)
class ToldByMetadata:
    """``names``: speaker → the name of its model, where it can be told. ``settings``: the options worth keeping."""

    names: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


def read_metadata(path: Path) -> ToldByMetadata:
    """The metadata of a file of conversations; nothing is told where there is none.

    ``parlai self_chat`` calls its speakers after the agent's class, so that a name is taken from the options: of the Bot
    Speaker its models, joined by “+”; else the folder or name of the model file; else the kind of model.

    Raises:
        MaterialError: there is one, but it is not ParlAI's.
    """
    file = path.with_suffix(".metadata")
    if path.suffix == ".metadata" or not file.is_file():
        return ToldByMetadata()
    form = "expected the metadata that ParlAI writes beside conversations; mend it, or move it elsewhere"
    try:
        data = json.loads(read_text(file))
        speakers, opt = data.get("speakers") or [], data.get("opt") or {}
        names = [str(name) for name in speakers]
        options = dict(opt)
    except (ValueError, TypeError, AttributeError) as error:
        if isinstance(error, MaterialError):
            raise
        raise MaterialError(f"{file}: cannot be read ({error}); {form}") from error
    kept = {name: options[name] for name in _KEPT if options.get(name) is not None}
    return ToldByMetadata(_names(names, options, bool(data.get("self_chat"))), kept)


def _names(speakers: list[str], opt: Mapping[str, Any], self_chat: bool) -> dict[str, str]:
    """In a self-chat the partner may be another model; in a conversation with a person every other speaker is the one."""
    own = _model_name(opt)
    if not own or len(speakers) > 2:
        return {}
    partner = _of_file(str(opt.get("partner_model_file") or "")) or own
    if not self_chat:
        return dict.fromkeys(speakers, own)
    return {speaker: partner if speaker.endswith("_2") else own for speaker in speakers}


def _model_name(opt: Mapping[str, Any]) -> str:
    models = opt.get("models")
    if models:
        return "+".join(name.strip() for name in str(models).split(","))
    return _of_file(str(opt.get("model_file") or "")) or str(opt.get("model") or "")


def _of_file(model_file: str) -> str:
    """``…/blender_90M/model`` is blender_90M, ``…/mine.model`` is mine."""
    path = PurePath(model_file)
    return path.parent.name if path.stem == "model" else path.stem
