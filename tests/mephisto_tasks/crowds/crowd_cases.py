"""Every crowd as the contract tests meet it: its settings, its stand-in, and how somebody comes from it."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from live import TASK, Rater, browser_of
from mturk_hands import Turker, mturk_at_home, open_hits
from panel_hands import Participant, local_url
from prolific_hands import FromProlific, open_places, prolific_at_home
from servers import mturk, prolific

from mephisto_tasks.adapter.blueprint import mephisto_settings
from mephisto_tasks.admission.visits import Arrival
from mephisto_tasks.crowds import registry
from mephisto_tasks.crowds.invitations.entry import INVITATION, InvitationDoor, link_signer
from mephisto_tasks.crowds.invitations.store import InvitationStore
from mephisto_tasks.crowds.mturk import hits as sync
from mephisto_tasks.launch.launch import RunningStudy
from mephisto_tasks.simulation.page_client import PageClient
from mephisto_tasks.storage.locks import study_folder
from parlai_humaneval._util import plugins

PUBLIC = "mephisto.architect.public_url=https://study.example.org"
EXAMPLE = Path(__file__).parents[3] / "examples" / "own_crowd"


@dataclass(frozen=True)
class Case:
    """One crowd.

    Args:
        name: of the case.
        settings: of a launch there; ``FOLDER`` is where ``files`` are.
        wrong: settings that are refused, and with which words.
        come: somebody's page, by a launch, what stands in for the site, and who.
        parameters: of an address by which somebody comes, where addresses say who.
        arrival: whom these parameters name.
        exits: what the address holds to which somebody goes with each outcome.
        files: name → text of files that settings, right or wrong, name as ``FOLDER/NAME``.
        stored: part of the name under which the database keeps Ann, in lower case.
    """

    name: str
    settings: list[str]
    wrong: list[tuple[str, str]]
    come: Callable[[RunningStudy, Any, str], Rater] | None = None
    parameters: dict[str, str] = field(default_factory=dict)
    arrival: Arrival | None = None
    exits: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    stored: str = "ann"
    site: Callable[[pytest.MonkeyPatch, Path], AbstractContextManager[Any]] = lambda patch, home: nullcontext()

    def overrides(self, folder: Path) -> list[str]:
        """Settings with files of this test."""
        for name, text in self.files.items():
            (folder / name).write_text(text, encoding="utf-8")
        return [setting.replace("FOLDER", str(folder)) for setting in self.settings]


def _here(run: RunningStudy, site: object, person: str) -> Rater:
    return Rater(run, person)


def _from_panel(run: RunningStudy, site: object, person: str) -> Rater:
    return Participant(run, person)


def by_link(run: RunningStudy, link: str, person: str) -> Rater:
    rater = Rater(local_url(run), person)
    rater.client = PageClient(
        local_url(run), parameters=parse_qsl(urlsplit(link).query), heartbeat_s=0.5, browser=browser_of(person)
    )
    return rater


def _invited(run: RunningStudy, site: object, person: str) -> Rater:
    invitation = InvitationStore(study_folder(run.data_dir, TASK)).invite_class(person, 1, 3600.0)
    token = link_signer(run.data_dir, TASK).signed(invitation.invitation_id)
    entry = InvitationDoor(run.data_dir, TASK).look({INVITATION: token}, None)
    assert entry is not None
    query = "&".join(f"{name}={value}" for name, value in entry.parameters.items())
    return by_link(run, f"http://x/?{query}", person)


def _with_password(run: RunningStudy, site: object, person: str) -> Rater:
    return by_link(run, f"http://x/?name={person}&password=opensesame", person)


def _turker(run: RunningStudy, site: mturk.StandIn, person: str) -> Rater:
    return Turker(run, site, f"A1{person.upper()}")


def _mturk(patch: pytest.MonkeyPatch, home: Path) -> AbstractContextManager[mturk.StandIn]:
    patch.setattr(sync, "POLL_S", 0.1)
    return mturk_at_home(patch, home, sandbox=False)


def _taker(run: RunningStudy, site: prolific.StandIn, person: str) -> Rater:
    return FromProlific(run, site, person)


def _panel(panel: str, parameters: dict[str, str], exits: dict[str, str], *more: str) -> Case:
    study, session = ("", "p1") if panel == "sona" else ("s1", "x1")
    codes = ["mephisto.provider.completion_code=C1"] if panel in ("prolific", "toloka") else []
    return Case(
        name=panel,
        settings=["place=link", f"mephisto.provider.panel={panel}", PUBLIC, *codes, *more],
        wrong=[("mephisto.provider.panel=nobody", "no panel 'nobody'"), ("mephisto.provider.values.odd=1", "'odd'")],
        come=_from_panel if panel == "prolific" else None,
        parameters=parameters,
        arrival=Arrival(worker_name=f"{panel}:p1", door=panel, study=study, session=session),
        exits=exits,
    )


CASES = [
    Case("local", ["place=local"], [("mephisto.provider.panel=prolific", "place=link")], _here),
    _panel(
        "prolific",
        {"PROLIFIC_PID": "p1", "STUDY_ID": "s1", "SESSION_ID": "x1"},
        {"complete": "submissions/complete?cc=C1"},
    ),
    _panel(
        "sona",
        {"survey_code": "p1"},
        {"complete": "my.sona-systems.com/webstudy_credit.aspx?experiment_id=1&credit_token=t&survey_code=p1"},
        *(f"mephisto.provider.values.{name}" for name in ("site=my", "experiment_id=1", "credit_token=t")),
    ),
    _panel("toloka", {"worker_id": "p1", "pool_id": "s1", "assignment_id": "x1"}, {"complete": "C1"}),
    _panel(
        "cloudconnect",
        {"participantId": "p1", "projectId": "s1", "assignmentId": "x1"},
        {"complete": "connect.cloudresearch.com/participant/project/s1/complete"},
    ),
    Case(
        "invitations",
        ["place=link"],
        [("mephisto.architect.public_url=javascript:alert", "is not an address")],
        _invited,
        stored="invitation:",
    ),
    Case(
        "prolific_api",
        ["place=prolific"],
        [
            ("mephisto.provider.devices=[toaster]", "'toaster'"),
            ("mephisto.provider.currency=EUR", "'EUR'"),
            ("mephisto.provider.screen_out_pay=0.20", "screen_out_slots"),
            ("mephisto.provider.bonus_budget=-1", "bonus_budget"),
            ("mephisto.provider.panel=x", "place=link"),
        ],
        _taker,
        parameters={"PROLIFIC_PID": "p1", "STUDY_ID": "s1", "SESSION_ID": "x1"},
        arrival=Arrival(worker_name="prolific:p1", door="prolific", study="s1", session="x1"),
        stored=b"ann".hex(),
        site=prolific_at_home,
    ),
    *(
        Case(
            place,
            [f"place={place}", "mephisto.provider.requester_name=lab", "mephisto.task.task_reward=0.50"],
            [("mephisto.provider.bonus_budget=-1", "bonus_budget"), ("mephisto.provider.panel=x", "place=link")],
            _turker,
            site=_mturk,
        )
        for place in ("mturk", "mturk_sandbox")
    ),
    Case(
        "password",
        ["place=password", "mephisto.provider.password_file=FOLDER/people.txt"],
        [
            ("mephisto.provider.password_file=/no/such/file", "cannot be read"),
            (
                "mephisto.provider.password_file=FOLDER/faults.txt",
                "line 2 is not NAME:PASSWORD; line 4 names 'ann' again",
            ),
        ],
        _with_password,
        parameters={"name": "ann", "password": "opensesame"},
        arrival=Arrival(worker_name="password:ann", door="password", session="ann"),
        files={"people.txt": "ann:opensesame\n", "faults.txt": "ann:opensesame\nben\n\nann:other\n"},
    ),
]
"""The last one is the example of a plug-in package."""


@contextmanager
def with_the_example(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
    """``examples/own_crowd`` is installed for as long as the block lasts, as pip would do it."""
    from mephisto.operations import registry as mephistos

    text = (EXAMPLE / "pyproject.toml").read_text(encoding="utf-8")
    (entry_point,) = re.findall(r'^password = "(.*)"$', text, re.MULTILINE)
    shutil.copytree(EXAMPLE / "password_crowd", folder / "password_crowd")
    info = folder / "password_crowd-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: password-crowd\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{plugins.GROUP}]\npassword = {entry_point}\n")
    registry.crowds()  # before the package can be found: those of this package are registered once
    patch.syspath_prepend(str(folder))
    patch.setattr(registry, "_registered", [*registry._registered])
    patch.setattr(plugins, "_begun", set(plugins._begun))
    plugins._installed.cache_clear()
    caches = (registry._load, mephisto_settings)
    for cache in caches:
        cache.cache_clear()
    yield
    mephistos.PROVIDERS.pop("password", None)
    plugins._installed.cache_clear()
    for cache in caches[1:]:
        cache.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "password_crowd"]:
        del sys.modules[name]


def hits_open(site: Any) -> int:
    """Units that the site's workers could take; of crowds that list none, nothing."""
    if isinstance(site, prolific.StandIn):
        return open_places(site)
    return len(open_hits(site)) if isinstance(site, mturk.StandIn) else 0
