"""All crowds of this package and of plug-in packages, and Mephisto's database with their providers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from omegaconf import DictConfig, OmegaConf

from mephisto_tasks._util import compat
from mephisto_tasks.crowds.crowd import Crowd, CrowdError, CrowdWords
from parlai_humaneval._util.files import make_private, mode_within
from parlai_humaneval._util.plugins import load_plugins
from parlai_humaneval.statistics.core.formatting import counted

if TYPE_CHECKING:
    from mephisto_tasks.payments.ledger import Payer

FOLDERS = ("local", "panels", "invitations", "prolific", "mturk")
"""Crowds of this package, in display order; the first of a provider type answers for old runs of it."""
T = TypeVar("T")
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
    """All, those of this package first, whichever was imported first. Raises CrowdError: one could never be reached."""
    _load()
    places = {f"{__package__}.{folder}.crowd": place for place, folder in enumerate(FOLDERS)}
    known = tuple(sorted(_registered, key=lambda crowd: places.get(type(crowd).__module__, len(places))))
    for earlier, crowd in combinations(known, 2):
        same = earlier.place == crowd.place, earlier.provider_type == crowd.provider_type
        if any(same) and (not all(same) or type(earlier).takes is Crowd.takes):
            names = f"place {crowd.place!r} or the provider_type {crowd.provider_type!r}"
            what = f"the crowd {crowd.title!r} ({type(crowd).__module__}) has the {names}, which {earlier.title!r} uses"
            raise CrowdError(what, try_="choose another name for each that is taken")
    return known


def offered(ability: Callable[[Crowd], T | None]) -> T:
    """The offer of the first crowd with this ability. Raises StopIteration: none has it."""
    return next(found for crowd in crowds() if (found := ability(crowd)) is not None)


def default_place() -> str:
    """Where raters come from unless a launch says it: where nobody expects to be paid."""
    return offered(lambda crowd: crowd.place if crowd.is_practice else None)


def invited_place() -> str:
    """Where raters come by invitation alone."""
    return offered(lambda crowd: crowd.place if crowd.Launch.only_invited else None)


def places_in_words() -> str:
    """The meaning of each value of ``place``, for help."""
    said: dict[str, str] = {}
    for crowd in crowds():
        said.setdefault(crowd.place, crowd.words.summary)
    return "; ".join(f"{place} {summary}" for place, summary in said.items())


def crowd_of(provider_type: str, settings: Mapping[str, Any] | None = None) -> Crowd:
    """The crowd of Mephisto's provider type and a launch's ``settings``. Runs of an unknown type are paid by hand."""
    of_type = (crowd for crowd in crowds() if crowd.provider_type == provider_type)
    return next((crowd for crowd in of_type if settings is None or crowd.takes(settings)), _Unknown(provider_type))


def crowd_in(config: DictConfig) -> Crowd:
    provider = OmegaConf.to_container(config.mephisto.provider, resolve=False)
    assert isinstance(provider, dict)
    settings = {str(name): value for name, value in provider.items()}
    return crowd_of(str(settings["_provider_type"]), settings)


def conf_folders() -> list[Path]:
    """Folders with a ``place/WORD.yaml`` of crowds, and with confs of theirs."""
    return list(dict.fromkeys(crowd.confs for crowd in crowds() if crowd.confs.is_dir()))


def payer_of(data_dir: Path, task_name: str, provider: str, requester: str, runs: Sequence[str]) -> Payer:
    return crowd_of(provider).payer(data_dir, task_name, requester, runs)


def register_providers() -> None:
    """Make Mephisto know the provider of every crowd, before a database is opened that may hold any of them."""
    for crowd in crowds():
        crowd.register_provider()


class _Unknown(Crowd):
    def __init__(self, provider_type: str) -> None:
        self.place = self.provider_type = self.title = provider_type
        self.words = CrowdWords(where=f"with the provider {provider_type}", summary="")


def done_elsewhere(data_dir: Path, task_name: str, provider: str) -> str | None:
    """That work was done in another place, and counts, in a sentence; None: all was done here. Raises ResultsError."""
    from mephisto_tasks.storage.results import query
    from mephisto_tasks.storage.work import completed_work

    if not (data_dir / "database.db").is_file():
        return None
    if {str(row[0]) for row in query(data_dir, "providers", [task_name])} <= {provider}:
        return None  # the records of a large task need not be read for this
    places = Counter(
        crowd_of(work.provider).words.where
        for work in completed_work(data_dir, task_name)
        if work.outcome == "complete" and work.provider != provider
    )
    if not places:
        return None
    many = " and ".join(f"{counted(number, 'assignment')} done {place}" for place, number in places.most_common())
    counts = f"Already counted for {task_name!r}, here and in its report: {many}"
    return f"{counts}. If that was only a trial, choose another task_name=…"


def ensure_requester(db: Any, name: str, provider_type: str) -> None:
    """Make an account known to Mephisto's database under this name. Raises CrowdError: another crowd has one."""
    from mephisto.operations.registry import get_crowd_provider_from_type

    known = db.find_requesters(requester_name=name)
    if known and all(each.provider_type != provider_type for each in known):
        raise CrowdError(f"a requester {name!r} of another crowd already exists", try_="choose another name")
    if not known:
        get_crowd_provider_from_type(provider_type).RequesterClass.new(db, name)


@contextmanager
def opened(database: Path) -> Iterator[Any]:
    """The database of this file, for reading and writing; closed after the block."""
    compat.prepare()
    from mephisto.abstractions.databases.local_database import LocalMephistoDB

    from mephisto_tasks.storage.database import close_connections

    register_providers()
    make_private(database, mode_within(database.parent))
    db = LocalMephistoDB(str(database))
    try:
        yield db
    finally:
        close_connections(db)
