"""The partners' link: who has it may write replies. It is the same at every launch of a task."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from mephisto_tasks.router.core import Router
from mephisto_tasks.router.security import new_token
from mephisto_tasks.router.side_door import SideDoor
from mephisto_tasks.router.static_files import STATIC
from parlai_humaneval.languages.offered import Offered
from parlai_humaneval.languages.speaking import Language, speaking
from parlai_humaneval.private_files import OWNER_ONLY, create_once, write_private
from parlai_humaneval.protocol.materials.files import load_instructions

FOLDER = "partners"
"""In the data directory."""
NAME = "partner"
"""Of the page, in its address."""
HERE = Path(__file__).parent
SCRIPT = STATIC / "partner_crowd_source.js"


def partners_door(data_dir: Path, task_name: str, languages: Offered) -> SideDoor:
    """The way in for a task's partners: the raters' page with other words, and a router of its own."""
    words = {tag: _words(language) for tag, language in languages.languages.items()}
    of_languages = {tag: {**told, "words": words[tag]} for tag, told in languages.for_page().items()}
    config = {
        **words[languages.main.tag],
        "languages": of_languages,
        "provider_type": "mock",
        "instructions_first": True,
    }
    files = {"task_config.json": json.dumps(config).encode(), "wrap_crowd_source.js": SCRIPT.read_bytes()}
    return SideDoor(NAME, link_token(data_dir, task_name), Router(), files)


def _words(language: Language) -> dict[str, Any]:
    with speaking(language):
        return load_instructions(HERE / "task_config" / "instructions.yaml", {}, set()).model_dump(mode="json")


def link_token(data_dir: Path, task_name: str) -> str:
    """The token of a task, made at its first launch and kept in a file that only its owner can read."""
    digest = hashlib.sha256(task_name.encode()).hexdigest()[:16]  # task names are free text
    path = data_dir / FOLDER / f"{digest}.token"
    known = create_once(path, new_token().encode()).decode("ascii").strip()
    if not known:  # it was cut off while it was written
        known = new_token()
        write_private(path, known.encode())
    path.chmod(OWNER_ONLY)  # it may have been copied here
    return known
