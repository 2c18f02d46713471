"""Blind names of models, for what others may see: drawn by a secret seed, and the same ever after."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from parlai_humaneval.private_files import write_private
from parlai_humaneval.report.leaderboard import blind_names

BLIND_NAMES = "blind_names.json"


class BlindNamesError(ValueError):
    """The file of blind names cannot be read: making new ones would tell visitors of an earlier page which is which."""


class _Kept(BaseModel):
    """``seed``: of the draw, a secret: with it and the models' names anybody could draw again."""

    model_config = ConfigDict(extra="forbid")
    seed: str
    names: dict[str, str]


def kept_blind_names(folder: Path, models: Iterable[str]) -> dict[str, str]:
    """Name of a model → its blind name, as kept in ``folder``; drawn and written there for models that are new.

    Raises:
        BlindNamesError: the file that is there cannot be read.
        OSError: the folder cannot be written.
    """
    path = folder / BLIND_NAMES
    try:
        kept = _Kept.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        kept = _Kept(seed=secrets.token_hex(16), names={})
    except ValidationError as error:
        raise BlindNamesError(
            f"{path} is damaged, so which model had which blind name is lost. Move it away to have new ones drawn."
        ) from error
    names = blind_names(models, kept.seed, kept.names)
    if names != kept.names:
        content = kept.model_copy(update={"names": names}).model_dump_json(indent=2).encode()
        write_private(path, content, outlasts_power=True)
    return names
