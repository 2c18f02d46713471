"""Who agreed to which consent text of a study: a file of the study, and each text once. Nothing is kept of who said no."""

from __future__ import annotations

import time
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from mephisto_tasks.stored.lines_file import append_line, read_lines
from mephisto_tasks.stored.study_folder import study_folder
from parlai_humaneval.private_files import create_once
from parlai_humaneval.protocol.materials.consent import Consent

AGREEMENTS_FILE = "consents.jsonl"
TEXTS_FOLDER = "consents"
"""A file for each text that somebody could agree to, named by its digest."""


class Agreement(BaseModel):
    """``worker``: their pseudonym; ``version`` and ``digest``: of the text; ``at``: seconds since the epoch."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    worker: str
    version: str
    digest: str
    at: float = Field(default_factory=time.time)


def note_agreement(data_dir: Path, task_name: str, agreement: Agreement) -> None:
    append_line(study_folder(data_dir, task_name) / AGREEMENTS_FILE, agreement)


def agreements(data_dir: Path, task_name: str) -> list[Agreement]:
    """All of a study, oldest first."""
    return read_lines(study_folder(data_dir, task_name) / AGREEMENTS_FILE, Agreement)


def keep_text(data_dir: Path, task_name: str, consent: Consent) -> None:
    """Keep the text of a launch, word for word, so that what people agreed to can be shown later."""
    path = study_folder(data_dir, task_name) / TEXTS_FOLDER / f"{consent.digest}.json"
    create_once(path, consent.model_dump_json(indent=2).encode())


def text_of(data_dir: Path, task_name: str, digest: str) -> Consent | None:
    """The text of a digest; None where it is not there any more."""
    path = study_folder(data_dir, task_name) / TEXTS_FOLDER / f"{digest}.json"
    return Consent.model_validate_json(path.read_bytes()) if path.is_file() else None
