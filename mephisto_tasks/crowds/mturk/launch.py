"""A launch on MTurk or in its sandbox: its maximum cost, and rules for taking part as qualification requirements."""

from __future__ import annotations

from mephisto_tasks._util import compat

compat.prepare()

import logging
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from typing import Any
from urllib.parse import urlencode

from mephisto.data_model.requester import Requester
from mephisto.operations.registry import get_crowd_provider_from_type
from omegaconf import OmegaConf

from mephisto_tasks.admission.admission import PREFIX
from mephisto_tasks.config.task import ConfigError, WorkerRules
from mephisto_tasks.crowds.crowd import Agree, CrowdLaunch, CrowdSetup, LaunchControl, cents_of
from mephisto_tasks.crowds.mturk.client import MTurkError, asking, balance, client_for, endpoint, worker_site
from mephisto_tasks.crowds.mturk.hits import expire, following, group_of, hits_left, study_mark
from mephisto_tasks.crowds.mturk.settings import MTURK, SANDBOX
from mephisto_tasks.crowds.registry import done_elsewhere, ensure_requester
from mephisto_tasks.payments.policy import Quote, QuoteLine, money
from mephisto_tasks.storage.provider_names import SANDBOX_SUFFIX, plain_name
from mephisto_tasks.storage.work import CENT
from parlai_humaneval.statistics.core.formatting import counted

MOST_LETTERS = (("task_title", 128), ("task_description", 2000), ("task_tags", 1000))
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
YEAR_S = 365 * 24 * 3600
MONTH_S = 30 * 24 * 3600
FEE = "MTurk's fee{of} ({share:g} %, at least $0.01 each)"
FEE_SHARE = Decimal("0.20")
MASTERS_FEE = Decimal("0.05")
"""More, of the rewards of Masters: workers whom MTurk has found to be good. Their bonuses cost what others' do."""


def fee(amount: Decimal, share: Decimal = FEE_SHARE) -> Decimal:
    """MTurk's fee for a reward or a bonus: at least a cent, each rounded."""
    return max((amount * share).quantize(CENT, rounding=ROUND_HALF_UP), CENT)


def fee_share(masters_only: bool) -> Decimal:
    return FEE_SHARE + (MASTERS_FEE if masters_only else 0)


def quote(
    provider: str,
    requester: str,
    *,
    units: int,
    reward: Decimal,
    share: Decimal,
    endpoint: str = "",
    bonus_budget: Decimal = Decimal(0),
    most_open: int = 0,
    balance: Decimal | None = None,
    minutes: float | None = None,
) -> Quote:
    """Dollars that a launch can cost at most. A unit is a HIT for one worker: the fee for ten assignments never applies."""
    is_real = provider == MTURK
    lines = [
        QuoteLine(kind="reward", words=f"{counted(units, 'assignment')} at {money(reward)}", amount=units * reward),
        QuoteLine(kind="fee", words=FEE.format(of="", share=float(100 * share)), amount=units * fee(reward, share)),
    ]
    if bonus_budget:  # which is not spent in bonuses of a few cents each
        words = FEE.format(of=" on bonuses", share=float(100 * FEE_SHARE))
        lines.append(QuoteLine(kind="bonus", words="bonuses, at most", amount=bonus_budget))
        lines.append(QuoteLine(kind="bonus_fee", words=words, amount=fee(bonus_budget)))
    lacking = sum((line.amount for line in lines), Decimal(0)) - (balance or Decimal(0))
    refusal = None
    if is_real and balance is not None and lacking > 0:
        has = f"the MTurk account of {requester!r} has {money(balance)}, but this launch can cost {money(lacking + balance)}"
        refusal = f"{has}: add {money(lacking)} at requester.mturk.com/account, or collect less. Nothing was created"
    return Quote(
        provider=provider,
        requester=requester,
        endpoint=endpoint,
        units=units,
        reward=reward,
        fee_share=share,
        bonus_budget=bonus_budget,
        most_open=most_open,
        balance=balance,
        hourly=None if not minutes else (reward * 60 / Decimal(str(minutes))).quantize(CENT),
        lines=lines,
        facts=[("HITs open at once, at most", str(most_open))],
        heading="This launch spends real money on MTurk"
        if is_real
        else "In MTurk's sandbox, no money is spent. On MTurk",
        is_real=is_real,
        refusal=refusal,
    )


def quote_of(config: Any, units: int, *, masters: bool, mark: str, minutes: float | None = None) -> Quote:
    """The maximum cost of a launch by its ``mephisto`` settings. ``mark``: of the study's HITs, whose money this launch
    sets free. Raises MTurkError, ConfigError: MTurk takes no such amounts, times or texts, or is away."""
    provider, name = str(config.provider._provider_type), str(config.provider.requester_name)
    reward = cents_of("task_reward", config.task.task_reward, "MTurk") * CENT
    bonus_budget = cents_of("bonus_budget", config.provider.get("bonus_budget") or 0, "MTurk") * CENT
    times = (
        ("assignment_duration_in_seconds", config.task.assignment_duration_in_seconds, 30, YEAR_S),
        ("task_lifetime_in_seconds", config.task.task_lifetime_in_seconds, 30, YEAR_S),
        ("auto_approval_delay_in_seconds", config.provider.get("auto_approval_delay_in_seconds", 0), 0, MONTH_S),
    )
    for setting, seconds, least, longest in times:
        if seconds is not None and not least <= int(seconds) <= longest:
            raise MTurkError(f"{setting}={seconds}: MTurk accepts {least} to {longest} seconds")
    # MTurk's own limits: CreateHITType refuses longer ones, and most control characters.
    for setting, most_letters in MOST_LETTERS:
        typed = config.task.get(setting) or ""
        text = typed if isinstance(typed, str) else ",".join(map(str, typed))
        if len(text) > most_letters:
            what = f"{setting} has {len(text)} characters, and MTurk accepts {most_letters}"
            raise MTurkError(what, try_=f"set a shorter one, mephisto.task.{setting}=…")
        if odd := _CONTROL.search(text):
            what = f"{setting} contains the control character {odd[0]!r}, which MTurk does not accept"
            raise MTurkError(what, try_=f"leave it out, mephisto.task.{setting}=…")
    client = client_for(name, provider)
    available = balance(client)
    open_at_once = int(config.task.get("max_num_concurrent_units") or 0)
    values: dict[str, Any] = {
        "units": units,
        "reward": reward,
        "share": fee_share(masters),
        "endpoint": endpoint(provider),
        "bonus_budget": bonus_budget,
        "most_open": min(units, open_at_once) if open_at_once else units,
        "minutes": minutes,
    }
    quoted = quote(provider, plain_name(name), balance=available, **values)
    if quoted.refusal is not None:
        hits = hits_left(client, (), mark)
        left = [(Decimal(hit["Reward"]), int(hit["NumberOfAssignmentsAvailable"])) for hit in hits]
        held = sum((number * (of_hit + fee(of_hit)) for of_hit, number in left), Decimal(0))
        return quote(provider, plain_name(name), balance=available + held, **values)
    return quoted


logger = logging.getLogger(__name__)


def stored_requester(db: Any, requester_name: str, provider: str) -> str:
    """Make the requester known to Mephisto's database; the name that it has there: those of its sandbox have a suffix."""
    stored = plain_name(requester_name) + (SANDBOX_SUFFIX if provider == SANDBOX else "")
    ensure_requester(db, stored, provider)
    return stored


def expire_left_over(db: Any, task_name: str, of_provider: str | None = None) -> int:
    """Take off MTurk (of ``of_provider`` alone) HITs of a task's earlier launches; how many. Raises MTurkError."""
    launches: dict[tuple[str, str], list[str]] = {}
    for task in db.find_tasks(task_name=task_name):
        for run in db.find_task_runs(task_id=task.db_id):
            if run.provider_type in ((MTURK, SANDBOX) if of_provider is None else (of_provider,)):
                name = Requester.get(db, run.requester_id).requester_name
                launches.setdefault((name, run.provider_type), []).append(run.db_id)
    expired = 0
    for (requester, provider), runs in launches.items():
        store = get_crowd_provider_from_type(provider)(db).datastore
        client = client_for(requester, provider)
        known, mark = set(store.hits_of_runs(runs)), study_mark(str(db.db_root), task_name)
        left = [str(hit["HITId"]) for hit in hits_left(client, known, mark)]
        problems = expire(client, left)
        if problems:
            still = f"{len(problems)} of {len(left)} HITs of an earlier launch are still on MTurk"
            raise MTurkError(f"{still} ({problems[0]})")
        expired += len(left)
    return expired


LOCALE = "00000000000000000071"
ADULT = "00000000000000000060"
NUMBER_APPROVED = "00000000000000000040"
PERCENT_APPROVED = "000000000000000000L0"
MASTERS = "2F1QJWKUDD8XADTFD2Q0G6UTO95ALH"
MASTERS_SANDBOX = "2ARFPLSP75KLA8M8DH1HTEQVJT3SY6"
"""MTurk's system qualifications; only that of Masters is another one in the sandbox."""

MOST_REQUIREMENTS = 10  # MTurk takes no more of them for a HIT
COUNTRY_WITH_PARTS = "US"
"""“Subdivisions or states are only available for the United States of America” (MTurk's API reference, Locale)."""
MEPHISTOS_LOCALES = ("US", "CA", "GB", "AU", "NZ")
"""Where workers of MTurk live, as Mephisto has it, where nothing is said of it."""

_ID = re.compile(r"[0-9A-Z]{20,64}")  # what ids of qualification types look like, and names hardly ever


def mturk_requirements(
    rules: WorkerRules, sandbox: bool, id_of: Callable[[str], str] | None = None
) -> list[dict[str, Any]]:
    """The rules as boto3 takes them: others do not even see the HITs. ``id_of``: of a qualification by its name; may
    raise."""
    at_least = "GreaterThanOrEqualTo"
    comparisons: list[tuple[bool, tuple[Any, ...]]] = [
        (rules.min_approval_rate is not None, (PERCENT_APPROVED, at_least, rules.min_approval_rate)),
        (rules.min_approved is not None, (NUMBER_APPROVED, at_least, rules.min_approved)),
        (rules.adult, (ADULT, "EqualTo", 1)),
        (rules.masters, (MASTERS_SANDBOX if sandbox else MASTERS, "Exists")),
    ]
    wanted = [_requirement(*comparison) for is_wanted, comparison in comparisons if is_wanted]
    for names, comparator in ((rules.qualifications, "Exists"), (rules.not_qualifications, "DoesNotExist")):
        for name in names:
            assert id_of is not None, "names of qualifications are looked up"
            wanted.append(_requirement(id_of(name), comparator))
    if rules.locales:
        parts = [filter(None, code.split("-", 1)) for code in rules.locales]  # “US-” is all of the country
        places = [dict(zip(("Country", "Subdivision"), names, strict=False)) for names in parts]
        wanted.append(_requirement(LOCALE, "In", LocaleValues=places))
    return wanted


def _requirement(type_id: str, comparator: str, value: int | None = None, **values: Any) -> dict[str, Any]:
    integers = {} if value is None else {"IntegerValues": [value]}
    guarded = {"ActionsGuarded": "DiscoverPreviewAndAccept"}
    return {"QualificationTypeId": type_id, "Comparator": comparator, **integers, **values, **guarded}


def qualification_id(client: Any, name: str, sandbox: bool = False) -> str:
    """The id of a qualification by its name in the account, or checked where it is one. Raises ConfigError."""
    if _ID.fullmatch(name):
        try:
            kind = client.get_qualification_type(QualificationTypeId=name)
            return str(kind["QualificationType"]["QualificationTypeId"])
        except client.exceptions.RequestError as error:
            what = f"MTurk has no qualification with the ID {name!r}"
            raise ConfigError(what, where=f"{PREFIX}qualifications") from error
    known: dict[str, str] = {}
    pages = client.get_paginator("list_qualification_types").paginate(MustBeRequestable=False, MustBeOwnedByCaller=True)
    for page in pages:
        known |= {kind["Name"]: kind["QualificationTypeId"] for kind in page["QualificationTypes"]}
    if sandbox and name not in known:
        name += SANDBOX_SUFFIX
    if name not in known:
        there = ", ".join(sorted(known)[:20]) or "none"
        what = f"your MTurk account has no qualification {name!r}"
        raise ConfigError(what, where=f"{PREFIX}qualifications", try_=f"choose one that it has: {there}")
    return known[name]


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
        """MTurk is asked where rules name qualifications of the account. Raises ConfigError, MTurkError."""
        provider, blueprint = str(self.provider._provider_type), self.config.mephisto.blueprint
        for code in rules.locales:
            country, _, part = code.partition("-")
            if part and country != COUNTRY_WITH_PARTS:
                what = f"MTurk can filter by parts of {COUNTRY_WITH_PARTS} only, not {code!r}"
                advice = f"write {country!r}, and ask for the part of the country in the practice round"
                raise ConfigError(what, where=f"{PREFIX}locales", try_=advice)
        sandbox = provider == SANDBOX

        def id_of(name: str) -> str:
            with asking("look for qualifications"):
                return qualification_id(client_for(str(self.provider.requester_name), provider), name, sandbox)

        wanted = mturk_requirements(rules, sandbox, id_of)
        ours = [OmegaConf.select(blueprint, name) for name in ("onboarding_qualification", "block_qualification")]
        total = len(wanted) + sum(map(bool, ours)) + len(self.blocks)
        if total > MOST_REQUIREMENTS:
            what = f"MTurk allows {MOST_REQUIREMENTS} requirements, but including ours there are {total}"
            raise ConfigError(what, where=PREFIX[:-1])
        return wanted

    def prepare(self, db: Any) -> list[str]:
        name = stored_requester(db, str(self.provider.requester_name), str(self.provider._provider_type))
        self.provider.requester_name = name
        with self.waiting_for("Looking for HITs that an earlier launch left on MTurk…"):
            expired = expire_left_over(db, self.task_name)
        if not expired:
            return []
        words = "%d HITs of an earlier launch of %r were still on MTurk, and were withdrawn"
        logger.warning(words, expired, self.task_name)
        left = f"{expired} HIT(s) of an earlier launch, which did not end cleanly, were still on MTurk"
        return [f"{left}: they were withdrawn."]

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
