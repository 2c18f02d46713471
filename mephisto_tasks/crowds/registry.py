"""Every crowd that there is: those of this package, and those that plug-in packages register."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from mephisto_tasks.crowds.base import CrowdWords, Waiting
from mephisto_tasks.crowds.crowd import Crowd, CrowdLaunch
from mephisto_tasks.payments.payer import Payer
from mephisto_tasks.storage.results import query
from mephisto_tasks.storage.work import work_done
from parlai_humaneval._util.plugins import load_plugins
from parlai_humaneval.statistics.core.formatting import counted

FOLDERS = ("local", "panels", "invitations", "prolific", "mturk")
"""Of this package, in the order in which they are shown; the first of a provider type answers for old runs of it."""
_registered: list[Crowd] = []


def register_crowd(*crowds: Crowd) -> None:
    """Add crowds. A plug-in calls it while it is imported."""
    _registered.extend(crowds)


@cache
def _load() -> None:
    for folder in FOLDERS:
        import_module(f"mephisto_tasks.crowds.{folder}.crowd")
    load_plugins()


def crowds() -> tuple[Crowd, ...]:
    """All, those of this package first, whichever was imported first."""
    _load()
    ours = [f"{__package__}.{folder}.crowd" for folder in FOLDERS]

    def place(crowd: Crowd) -> int:
        module = type(crowd).__module__
        return ours.index(module) if module in ours else len(ours)

    return tuple(sorted(_registered, key=place))


def places_in_words() -> str:
    """What each word of ``place`` stands for, for help."""
    said: dict[str, str] = {}
    for crowd in crowds():
        said.setdefault(crowd.place, crowd.words.summary)
    return "; ".join(f"{place} {summary}" for place, summary in said.items())


def crowd_of(provider_type: str, settings: Mapping[str, Any] | None = None) -> Crowd:
    """The crowd of Mephisto's provider type, as databases have it; ``settings`` of a launch choose between several.

    A type that nobody registered has a crowd, too: its old runs are read and paid by hand.
    """
    known = [crowd for crowd in crowds() if crowd.provider_type == provider_type]
    if settings is not None:
        known = [crowd for crowd in known if crowd.takes(settings)]
    return known[0] if known else _Unknown(provider_type)


def crowd_in(config: DictConfig) -> Crowd:
    """The crowd of a launch's settings."""
    provider = OmegaConf.to_container(config.mephisto.provider, resolve=False)
    assert isinstance(provider, dict)
    settings = {str(name): value for name, value in provider.items()}
    return crowd_of(str(settings["_provider_type"]), settings)


def crowd_for(config: DictConfig, data_dir: Path, task_name: str, waiting_for: Waiting) -> CrowdLaunch:
    """The crowd during a launch."""
    return crowd_in(config).launch(config, data_dir, task_name, waiting_for)


def conf_folders() -> list[Path]:
    """Folders with a ``place/WORD.yaml`` of crowds, and with confs of theirs."""
    return list(dict.fromkeys(crowd.confs for crowd in crowds() if crowd.confs.is_dir()))


def payer_of(data_dir: Path, task_name: str, provider: str, requester: str, runs: Sequence[str]) -> Payer:
    """The payer of what was done in these runs of a task."""
    return crowd_of(provider).payer(data_dir, task_name, requester, runs)


def register_providers() -> None:
    """Make Mephisto know the provider of every crowd, before a database is opened that may hold any of them."""
    for crowd in crowds():
        crowd.register_provider()


class _Unknown(Crowd):
    """A provider that no crowd is registered for."""

    def __init__(self, provider_type: str) -> None:
        self.place = self.provider_type = self.title = provider_type
        self.words = CrowdWords(where=f"with the provider {provider_type}", summary="")


_PROVIDERS_OF = """
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
    if {str(row[0]) for row in query(data_dir, _PROVIDERS_OF, [task_name])} <= {provider}:
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
