"""Which workers a HIT's QualificationRequirements let in, and whether these make sense."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from .errors import does_not_exist, invalid
from .records import (
    ADULT,
    LOCALE,
    MASTERS,
    MASTERS_IN_SANDBOX,
    NUMBER_APPROVED,
    PERCENT_APPROVED,
    SYSTEM_TYPES,
    QualificationType,
    Worker,
)

MOST_REQUIREMENTS, MOST_INTEGERS, MOST_LOCALES = 10, 15, 30
_NUMBERS: dict[str, Callable[[int, int], bool]] = {
    "LessThan": operator.lt,
    "LessThanOrEqualTo": operator.le,
    "GreaterThan": operator.gt,
    "GreaterThanOrEqualTo": operator.ge,
    "EqualTo": operator.eq,
    "NotEqualTo": operator.ne,
}
_ALLOWED = {
    LOCALE: ("EqualTo", "NotEqualTo", "In", "NotIn"),
    ADULT: ("EqualTo",),
    MASTERS: ("Exists",),
    MASTERS_IN_SANDBOX: ("Exists",),
}

Requirement = Mapping[str, Any]
Types = Mapping[str, QualificationType]


def check_requirements(requirements: list[dict[str, Any]], types: Types) -> None:
    """Refuse those that MTurk refuses when a HIT type is made."""
    if len(requirements) > MOST_REQUIREMENTS:
        raise invalid(f"A HIT may have at most {MOST_REQUIREMENTS} qualification requirements.")
    for requirement in requirements:
        _check(requirement, types)


def _check(requirement: Requirement, types: Types) -> None:
    kind, comparator = requirement["QualificationTypeId"], requirement["Comparator"]
    if kind not in SYSTEM_TYPES and kind not in types:
        raise does_not_exist("QualificationType", kind)
    if comparator not in _ALLOWED.get(kind, (comparator,)):
        raise invalid(f"Comparator {comparator} cannot be used with the qualification type {kind}.")
    values = requirement.get("LocaleValues" if kind == LOCALE else "IntegerValues") or []
    others = requirement.get("IntegerValues" if kind == LOCALE else "LocaleValues") or []
    if kind == LOCALE and any("Subdivision" in place and place["Country"] != "US" for place in values):
        raise invalid("Subdivisions are only available for the United States of America.")
    least, most = 1, 1
    if comparator in ("Exists", "DoesNotExist"):
        least = most = 0
    elif comparator in ("In", "NotIn"):
        most = MOST_LOCALES if kind == LOCALE else MOST_INTEGERS
    if others or not least <= len(values) <= most:
        raise invalid(f"The values of the requirement on {kind} do not go with the comparator {comparator}.")


def lets_in(requirement: Requirement, worker: Worker, types: Types) -> bool:
    """Whether the worker meets it."""
    comparator, kind = requirement["Comparator"], requirement["QualificationTypeId"]
    if kind == LOCALE:
        at_home = any(_is_in(worker, place) for place in requirement["LocaleValues"])
        return at_home == (comparator in ("EqualTo", "In"))
    value = _value(kind, worker, types)
    if comparator in ("Exists", "DoesNotExist"):
        return (value is not None) == (comparator == "Exists")
    numbers = requirement["IntegerValues"]
    if value is None:
        return comparator in ("NotEqualTo", "NotIn")
    if comparator in ("In", "NotIn"):
        return (value in numbers) == (comparator == "In")
    return _NUMBERS[comparator](value, numbers[0])


def _is_in(worker: Worker, place: Mapping[str, str]) -> bool:
    return worker.country == place["Country"] and place.get("Subdivision") in (None, worker.subdivision)


def _value(kind: str, worker: Worker, types: Types) -> int | None:
    if kind == NUMBER_APPROVED:
        return worker.number_approved
    if kind == PERCENT_APPROVED:
        return worker.percent_approved
    if kind == ADULT:
        return int(worker.adult)
    if kind in (MASTERS, MASTERS_IN_SANDBOX):
        return 1 if worker.masters else None
    granted = types[kind].granted.get(worker.id) if kind in types else None
    return None if granted is None else granted[0]


def actions_guarded(requirement: Requirement) -> tuple[str, ...]:
    """What a worker who does not meet it may not do: discover, preview, accept."""
    guard = requirement.get("ActionsGuarded") or ("PreviewAndAccept" if requirement.get("RequiredToPreview") else "")
    if guard == "DiscoverPreviewAndAccept":
        return ("discover", "preview", "accept")
    return ("preview", "accept") if guard == "PreviewAndAccept" else ("accept",)
