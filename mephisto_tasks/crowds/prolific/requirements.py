"""Rules who may take part, as Prolific's filters: whom they leave out does not even see the study.

Ids of filters and of their choices are Prolific's own, and are looked up by what it calls them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mephisto_tasks.config.errors import ConfigError
from mephisto_tasks.config.worker_rules import WorkerRules

COUNTRY, LANGUAGES = "Current country of residence", "Fluent languages"
RATE, NUMBER = "Approval rate", "Number of previous submissions"
CHECKED_THERE = ("locales", "min_approval_rate", "min_approved")
"""Rules that become filters."""
BLOCKED, ALLOWED, EARLIER = "participant_group_blocklist", "participant_group_allowlist", "previous_studies_blocklist"
_MANY = 1_000_000

Filter = dict[str, Any]


def filters(
    rules: WorkerRules, fluent: Sequence[str], known: Sequence[Mapping[str, Any]]
) -> tuple[list[Filter], list[str]]:
    """Filters for the rules, and remarks on what Prolific does not check.

    Args:
        rules: who may take part.
        fluent: languages, as Prolific calls them.
        known: what Prolific lists as its filters.

    Raises:
        ConfigError: it has no such country or language.
    """
    made: list[Filter] = []
    remarks: list[str] = []
    if rules.locales:
        countries = list(dict.fromkeys(code.partition("-")[0] for code in rules.locales))
        made.append(_choice(known, COUNTRY, "workers.locales", [(code, _names_of(code)) for code in countries]))
        if parts := [code for code in rules.locales if "-" in code]:
            remarks.append(f"Prolific knows countries only: nobody checks that people live in {', '.join(parts)}.")
    if fluent:
        made.append(_choice(known, LANGUAGES, "fluent", [(word, {word}) for word in fluent]))
    if rules.min_approval_rate is not None:
        made.append(_range(_filter(known, RATE), rules.min_approval_rate, 100))
    if rules.min_approved is not None:
        try:
            made.append(_range(_filter(known, NUMBER), rules.min_approved, _MANY))
        except ConfigError:
            remarks.append("Prolific lists no filter for workers.min_approved: nobody checks it.")
    return made, remarks


def _filter(known: Sequence[Mapping[str, Any]], title: str) -> Mapping[str, Any]:
    for one in known:
        if _plain(title) in (_plain(one.get("title")), _plain(one.get("filter_id"))):
            return one
    raise ConfigError(
        f"Prolific lists no filter “{title}” any more", try_="leave that rule out, and ask people in a practice"
    )


def _choice(
    known: Sequence[Mapping[str, Any]], title: str, setting: str, wanted: Iterable[tuple[str, set[str]]]
) -> Filter:
    """Of a filter's choices those that have one of the names."""
    found = _filter(known, title)
    labels = {_plain(label): str(choice) for choice, label in dict(found.get("choices") or {}).items()}
    chosen = []
    for word, names in wanted:
        choice = next((labels[_plain(name)] for name in names if _plain(name) in labels), None)
        if choice is None:
            raise ConfigError(
                f"Prolific has no {word!r} among its choices of “{title}”", where=setting, try_="leave it out"
            )
        chosen.append(choice)
    return {"filter_id": found["filter_id"], "selected_values": chosen}


def _range(found: Mapping[str, Any], lower: int, upper: int) -> Filter:
    most = found.get("max")
    bounds = {"lower": lower, "upper": upper if most is None else min(upper, int(most))}
    return {"filter_id": found["filter_id"], "selected_range": bounds}


def _names_of(country: str) -> set[str]:
    import pycountry

    entry = pycountry.countries.get(alpha_2=country)
    names = (getattr(entry, name, "") for name in ("name", "common_name", "official_name"))
    return {country, *filter(None, names)}


def _plain(text: object) -> str:
    return " ".join(re.findall(r"\w+", str(text or "").replace("_", " ").casefold()))
