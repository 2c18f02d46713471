"""Work of a task that was done in another place than where it is launched now: a trial on this machine, say."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from mephisto_tasks.crowds.registry import crowd_of
from mephisto_tasks.storage.results import query
from mephisto_tasks.storage.work import work_done
from parlai_humaneval.statistics.core.formatting import counted

_PROVIDERS = """
    SELECT DISTINCT units.provider_type
      FROM agents JOIN units ON units.unit_id = agents.unit_id JOIN tasks ON tasks.task_id = agents.task_id
     WHERE tasks.task_name = ?
"""


def done_elsewhere(data_dir: Path, task_name: str, provider: str) -> str | None:
    """That it counts, in a sentence for who changes the place by one word; None where all was done in this place.

    Args:
        data_dir: of the launch.
        task_name: of the launch.
        provider: Mephisto's type of where it is launched.

    Raises:
        ResultsError: what is stored cannot be read.
    """
    if not (data_dir / "database.db").is_file():
        return None
    if {str(row[0]) for row in query(data_dir, _PROVIDERS, [task_name])} <= {provider}:
        return None  # the records of a large task need not be read for this
    places = Counter(
        crowd_of(work.provider).words.where
        for work in work_done(data_dir, task_name)
        if work.outcome == "complete" and work.provider != provider
    )
    if not places:
        return None
    many = " and ".join(f"{counted(number, 'unit')} done {place}" for place, number in places.most_common())
    return (
        f"Already counted for {task_name!r}, here and in its report: {many}. If that was only a trial, choose another "
        "task_name=…"
    )
