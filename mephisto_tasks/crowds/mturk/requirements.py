"""Rules who may take part, as MTurk's qualification requirements."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from mephisto_tasks.config.worker_rules import WorkerRules
from mephisto_tasks.storage.provider_names import SANDBOX_SUFFIX
from parlai_humaneval._util.errors import HumanevalError

LOCALE = "00000000000000000071"
ADULT = "00000000000000000060"
NUMBER_APPROVED = "00000000000000000040"
PERCENT_APPROVED = "000000000000000000L0"
MASTERS = "2F1QJWKUDD8XADTFD2Q0G6UTO95ALH"
MASTERS_SANDBOX = "2ARFPLSP75KLA8M8DH1HTEQVJT3SY6"
"""MTurk's system qualifications; only that of Masters is another one in the sandbox."""

MOST_REQUIREMENTS = 10
"""MTurk takes no more of them for a HIT."""
COUNTRY_WITH_PARTS = "US"
"""“Subdivisions or states are only available for the United States of America” (MTurk's API reference, Locale)."""
MEPHISTOS_LOCALES = ("US", "CA", "GB", "AU", "NZ")
"""Where workers of MTurk live, as Mephisto has it, where nothing is said of it."""

_ID = re.compile(r"[0-9A-Z]{20,64}")
"""What ids of qualification types look like, and names hardly ever."""


class UnknownQualification(HumanevalError, LookupError):
    """The account knows no such qualification."""


def mturk_requirements(
    rules: WorkerRules, sandbox: bool, id_of: Callable[[str], str] | None = None
) -> list[dict[str, Any]]:
    """What boto3 takes as QualificationRequirements: who does not fulfil them does not even see the HITs.

    Args:
        rules: who may take part.
        sandbox: whether they are for MTurk's sandbox.
        id_of: finds the id of a qualification that ``rules`` name; needed only where they name any.

    Raises:
        what ``id_of`` raises; ValueError: more requirements than MTurk takes.
    """
    wanted = [_requirement(*comparison) for comparison in _comparisons(rules, sandbox)]
    for names, comparator in ((rules.qualifications, "Exists"), (rules.not_qualifications, "DoesNotExist")):
        for name in names:
            assert id_of is not None, "names of qualifications are looked up"
            wanted.append(_requirement(id_of(name), comparator))
    if rules.locales:
        wanted.append(_requirement(LOCALE, "In", LocaleValues=[_locale(code) for code in rules.locales]))
    return wanted


def _comparisons(rules: WorkerRules, sandbox: bool) -> Iterable[tuple[Any, ...]]:
    if rules.min_approval_rate is not None:
        yield PERCENT_APPROVED, "GreaterThanOrEqualTo", rules.min_approval_rate
    if rules.min_approved is not None:
        yield NUMBER_APPROVED, "GreaterThanOrEqualTo", rules.min_approved
    if rules.adult:
        yield ADULT, "EqualTo", 1
    if rules.masters:
        yield MASTERS_SANDBOX if sandbox else MASTERS, "Exists"


def _requirement(type_id: str, comparator: str, value: int | None = None, **values: Any) -> dict[str, Any]:
    integers = {} if value is None else {"IntegerValues": [value]}
    guarded = {"ActionsGuarded": "DiscoverPreviewAndAccept"}
    return {"QualificationTypeId": type_id, "Comparator": comparator, **integers, **values, **guarded}


def _locale(code: str) -> dict[str, str]:
    country, _, part = code.partition("-")
    return {"Country": country, "Subdivision": part} if part else {"Country": country}


def qualification_id(client: Any, name: str, sandbox: bool = False) -> str:
    """The id of a qualification of the account: by its name there, or checked where it looks like an id.

    Args:
        client: boto3's of MTurk.
        name: as the rules have it.
        sandbox: there Mephisto's qualifications have a suffix, which need not be given.

    Raises:
        UnknownQualification: there is none; the message names those that there are.
    """
    if _ID.fullmatch(name):
        try:
            return str(
                client.get_qualification_type(QualificationTypeId=name)["QualificationType"]["QualificationTypeId"]
            )
        except client.exceptions.RequestError as error:
            raise UnknownQualification(f"MTurk knows no qualification with the id {name!r}") from error
    known: dict[str, str] = {}
    pages = client.get_paginator("list_qualification_types").paginate(MustBeRequestable=False, MustBeOwnedByCaller=True)
    for page in pages:
        known |= {kind["Name"]: kind["QualificationTypeId"] for kind in page["QualificationTypes"]}
    if sandbox and name not in known:
        name += SANDBOX_SUFFIX
    if name not in known:
        there = ", ".join(sorted(known)[:20]) or "none"
        raise UnknownQualification(
            f"your MTurk account has no qualification {name!r}", try_=f"choose one that it has: {there}"
        )
    return known[name]
