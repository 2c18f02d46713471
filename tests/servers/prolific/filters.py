"""Who may see a study: Prolific's filters, and whom they let in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .errors import bad
from .records import Person, Study

if TYPE_CHECKING:
    from .market import Market

Filter = dict[str, Any]
COUNTRIES = (
    "United Kingdom", "United States", "Ireland", "Germany", "France", "Spain", "Austria", "Switzerland", "Belgium",
    "Netherlands", "Italy", "Portugal", "Poland", "Greece", "Hungary", "Czech Republic", "Denmark", "Sweden", "Norway",
    "Finland", "Iceland", "Estonia", "Latvia", "Slovenia", "Luxembourg", "Israel", "Australia", "New Zealand", "Canada",
    "Mexico", "Chile", "South Africa", "Japan", "Korea", "India",
)  # fmt: skip
LANGUAGES = (
    "English", "German", "French", "Spanish", "Italian", "Portuguese", "Polish", "Dutch", "Greek", "Hungarian", "Czech",
    "Danish", "Swedish", "Norwegian", "Finnish", "Hebrew", "Arabic", "Hindi", "Japanese", "Korean", "Chinese", "Russian",
)  # fmt: skip
COUNTRY, LANGUAGE, APPROVAL_RATE = "current-country-of-residence", "fluent-languages", "approval_rate"
APPROVALS, AGE = "approval_numbers", "age"
LISTS = {
    "participant_group_allowlist": True,
    "participant_group_blocklist": False,
    "previous_studies_allowlist": True,
    "previous_studies_blocklist": False,
    "custom_allowlist": True,
    "custom_blocklist": False,
}
"""Of groups, studies and participants: whether those on them are let in, or kept out."""
FEWEST = 25
"""A smaller number of people is said to be none."""


def choices(labels: Sequence[str]) -> dict[str, str]:
    """Numbered: as with the real one, an id says nothing."""
    return {str(number): label for number, label in enumerate(labels)}


def catalogue(approvals: bool) -> list[Filter]:
    """All that there are."""
    selects = [
        (COUNTRY, "Current Country of Residence", "In what country do you currently reside?", COUNTRIES),
        (LANGUAGE, "Fluent languages", "Which of the following languages are you fluent in?", LANGUAGES),
        ("ai-taskers", "AI Taskers", "Are you a specialist AI tasker?", ("Yes", "No")),
    ]
    ranges = [
        (APPROVAL_RATE, "Approval Rate", 0, 100),
        *([(APPROVALS, "Number of previous submissions", 0, 100_000)] if approvals else []),
        (AGE, "Age", 18, 100),
    ]
    lists = [(name, name.replace("_", " ").capitalize()) for name in LISTS]
    every = [
        *(
            {"filter_id": i, "title": t, "question": q, "type": "select", "choices": choices(c)}
            for i, t, q, c in selects
        ),
        *({"filter_id": i, "title": t, "type": "range", "min": low, "max": high} for i, t, low, high in ranges),
        *({"filter_id": i, "title": t, "type": "select", "choices": None} for i, t in lists),
    ]
    return [{"description": "", "question": "", "tags": [], **each} for each in every]


def person_of(person_id: str, country: str, languages: Sequence[str], **ranges: float) -> Person:
    """A participant who has answered these questions, by their labels."""
    answers: dict[str, Any] = {
        COUNTRY: {str(COUNTRIES.index(country))},
        LANGUAGE: {str(LANGUAGES.index(language)) for language in languages},
        **ranges,
    }
    return Person(person_id, answers)


def check_filters(market: Market, filters: Any) -> None:
    """Refuse what is no list of filters."""
    known = {each["filter_id"]: each for each in catalogue(market.unknowns.lists_approvals)}
    if not isinstance(filters, list):
        raise bad({"filters": ["Expected a list of items."]})
    for each in filters:
        name = each.get("filter_id") if isinstance(each, dict) else None
        if name == "and":
            check_filters(market, each.get("selected_filters"))
            continue
        if name not in known:
            raise bad({"filters": [f"Filter {name} does not exist."]})
        if known[name]["type"] == "range":
            bounds = each.get("selected_range")
            if not isinstance(bounds, dict) or not bounds or set(bounds) - {"lower", "upper"}:
                raise bad({"filters": [f"{name}: selected_range must have a lower or an upper bound."]})
            continue
        values = each.get("selected_values")
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise bad({"filters": [f"{name}: selected_values must be a list of strings."]})
        if unknown := sorted(set(values) - set(known[name]["choices"] or values)):
            raise bad({"filters": [f"{name}: {', '.join(unknown)} are not valid choices."]})
        if str(name).startswith("participant_group") and (lost := [v for v in values if v not in market.groups]):
            raise bad({"filters": [f"{name}: no participant group {', '.join(lost)}."]})


def lets_in(market: Market, study: Study, person: Person) -> bool:
    """Whether a study's filters let somebody see it."""
    return all(_fits(market, each, person) for each in study.fields.get("filters") or [])


def eligible(market: Market, filters: Sequence[Filter]) -> int:
    """About how many people: shares of the pool as if answers were spread evenly, and lists as long as they are."""
    listed: set[str] | None = None
    barred: set[str] = set()
    share = 1.0
    for each in _flat(filters):
        name, values = each["filter_id"], each.get("selected_values") or []
        if name in LISTS:
            people = {person for value in values for person in _listed(market, name, value)}
            if LISTS[name]:
                listed = people if listed is None else listed & people
            else:
                barred |= people
            continue
        known = next(one for one in catalogue(True) if one["filter_id"] == name)
        if known["type"] == "range":
            low, high = float(known["min"]), float(known["max"])
            bounds = each["selected_range"]
            share *= max(0.0, min(high, bounds.get("upper", high)) - max(low, bounds.get("lower", low))) / (high - low)
        else:
            share *= len(set(values)) / len(known["choices"])
    many = len(listed - barred) if listed is not None else round(market.pool * share) - len(barred)
    return many if many >= FEWEST else 0


def _flat(filters: Sequence[Filter]) -> list[Filter]:
    return [
        below
        for each in filters
        for below in (_flat(each["selected_filters"]) if each["filter_id"] == "and" else [each])
    ]


def _listed(market: Market, name: str, value: str) -> list[str]:
    if name.startswith("participant_group"):
        return list(market.groups[value].members)
    if name.startswith("previous_studies"):
        study = market.studies.get(value)
        return [submission.person for submission in study.submissions] if study else []
    return [value]


def _fits(market: Market, each: Filter, person: Person) -> bool:
    name, values = each["filter_id"], each.get("selected_values") or []
    if name == "and":
        return all(_fits(market, below, person) for below in each["selected_filters"])
    if name in LISTS:
        return any(person.id in _listed(market, name, value) for value in values) == LISTS[name]
    answer = person.answers.get(name)
    if answer is None:
        return False
    if "selected_range" in each:
        bounds = each["selected_range"]
        return bool(bounds.get("lower", answer) <= answer <= bounds.get("upper", answer))
    return bool(set(values) & answer)
