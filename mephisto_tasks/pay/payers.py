"""Who pays for the work of which crowd provider."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mephisto_tasks.crowds.mturk.names import PROVIDERS as ON_MTURK
from mephisto_tasks.pay.files import FilePayer
from mephisto_tasks.pay.payer import Payer
from mephisto_tasks.running.run_settings import read_settings


def payer_of(data_dir: Path, task_name: str, provider: str, requester: str, runs: Sequence[str]) -> Payer:
    """The payer of what was done in these runs of a task."""
    if provider in ON_MTURK:
        from mephisto_tasks.pay.mturk import MTurkPayer

        launched = read_settings(data_dir, task_name)
        masters_only = launched is not None and bool(launched.settings.get("blueprint.workers.masters"))
        return MTurkPayer(data_dir, provider, requester, runs, masters_only=masters_only)
    return FilePayer(data_dir, task_name, provider, requester)
