"""A launch on MTurk or in its sandbox."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from omegaconf import OmegaConf

from mephisto_tasks.admission.eligibility import PREFIX
from mephisto_tasks.config.task import ConfigError
from mephisto_tasks.config.worker_rules import WorkerRules
from mephisto_tasks.crowds.base import Agree, CrowdSetup, LaunchControl
from mephisto_tasks.crowds.crowd import CrowdLaunch
from mephisto_tasks.crowds.mturk.client import client_for, worker_site
from mephisto_tasks.crowds.mturk.cost import quote_of
from mephisto_tasks.crowds.mturk.errors import MTurkError, asking
from mephisto_tasks.crowds.mturk.hits import group_of, study_mark
from mephisto_tasks.crowds.mturk.requesters import clear_before_launch, ensure_requester
from mephisto_tasks.crowds.mturk.requirements import (
    COUNTRY_WITH_PARTS,
    MOST_REQUIREMENTS,
    UnknownQualification,
    mturk_requirements,
    qualification_id,
)
from mephisto_tasks.crowds.mturk.sync import following
from mephisto_tasks.crowds.registry import done_elsewhere
from mephisto_tasks.storage.provider_names import SANDBOX


@dataclass
class MTurkLaunch(CrowdLaunch):
    """MTurk is asked for money, told whom to let in, and looked after while HITs are open there."""

    _required: list[dict[str, Any]] = field(default_factory=list)
    """What MTurk is to require of workers, who do not see the HITs else."""

    def ask(self, units: int, rules: WorkerRules, agree: Agree | None, minutes: float | None = None) -> None:
        with self.waiting_for("Asking MTurk…"):
            mark = study_mark(str(self.data_dir), self.task_name)
            quoted = quote_of(self.config.mephisto, units, masters=rules.masters, mark=mark, minutes=minutes)
            elsewhere = done_elsewhere(self.data_dir, self.task_name, str(self.provider._provider_type))
            self._required = self._requirements(rules)
        status = self.crowd.status()
        remarks = [*([] if status is None else [f"{status}."]), *([] if elsewhere is None else [elsewhere])]
        self.agreed_to(quoted.model_copy(update={"remark": " ".join(remarks) or None}), agree)

    def _requirements(self, rules: WorkerRules) -> list[dict[str, Any]]:
        """MTurk is asked where rules name qualifications of the account.

        Raises:
            ConfigError: a qualification does not exist on MTurk, it does not know a place, or there are too many
                requirements.
            MTurkError: MTurk cannot be asked.
        """
        provider, blueprint = str(self.provider._provider_type), self.config.mephisto.blueprint
        for code in rules.locales:
            country, _, part = code.partition("-")
            if part and country != COUNTRY_WITH_PARTS:
                raise ConfigError(
                    f"MTurk knows parts of {COUNTRY_WITH_PARTS} only, not {code!r}",
                    where=f"{PREFIX}locales",
                    try_=f"write {country!r}, and ask for the part of the country in the practice",
                )
        sandbox = provider == SANDBOX

        def id_of(name: str) -> str:
            with asking("look for qualifications"):
                return qualification_id(client_for(str(self.provider.requester_name), provider), name, sandbox)

        try:
            wanted = mturk_requirements(rules, sandbox, id_of)
        except UnknownQualification as error:
            raise ConfigError(error, where=f"{PREFIX}qualifications") from error
        ours = [OmegaConf.select(blueprint, name) for name in ("onboarding_qualification", "block_qualification")]
        total = len(wanted) + sum(map(bool, ours)) + len(self.blocks)
        if total > MOST_REQUIREMENTS:
            raise ConfigError(
                f"MTurk takes {MOST_REQUIREMENTS} requirements, and with ours there are {total}", where=f"{PREFIX[:-1]}"
            )
        return wanted

    def prepare(self, db: Any) -> list[str]:
        """What an earlier launch left on MTurk is taken off there."""
        name = ensure_requester(db, str(self.provider.requester_name), str(self.provider._provider_type))
        self.provider.requester_name = name
        with self.waiting_for("Looking for HITs that an earlier launch left on MTurk…"):
            cleared = clear_before_launch(db, self.task_name)
        return [] if cleared is None else [cleared]

    def setup(self, db: Any) -> CrowdSetup:
        setup = super().setup(db)
        setup.site_requirements = self._required
        return setup

    def raters_link(self, url: str, live_run: Any) -> str:
        """MTurk's preview of the HITs, or its list while there are none: the page alone lets nobody begin."""
        provider = str(self.provider._provider_type)
        site = worker_site(provider)
        hits = live_run.provider.datastore.hits_of_runs([live_run.task_run.db_id])
        try:
            group = group_of(client_for(str(self.provider.requester_name), provider), next(iter(hits)))
        except (StopIteration, MTurkError):  # the HITs are there, or will be, whether MTurk says where or not
            return site
        return f"{site}/mturk/preview?{urlencode({'groupId': group})}"

    def running(self, control: LaunchControl) -> AbstractContextManager[Any]:
        return following(control)
