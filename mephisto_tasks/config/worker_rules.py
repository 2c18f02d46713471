"""Who may take part: the settings ``mephisto.blueprint.workers.*``, the same wherever raters come from."""

from __future__ import annotations

from functools import cache

from pydantic import BaseModel, Field, field_validator, model_validator

from parlai_humaneval._util.errors import InvalidValue

MOST_LOCALES = 30  # no site takes more of them in one requirement


class WorkerRules(BaseModel, extra="forbid", frozen=True, use_attribute_docstrings=True):
    """Rules that a crowd's site can enforce become its requirements; all others hold at our own door, in any place."""

    locales: list[str] = Field(default_factory=list, max_length=MOST_LOCALES)
    """Where raters live: ISO codes such as US, GB or US-NY (part of a country, if the crowd's site supports it). The
    site checks this if it can. Use it to find people who read the language well."""
    min_approval_rate: int | None = Field(default=None, ge=0, le=100)
    """Minimum percentage of a rater's earlier work that was approved. The crowd's site checks it. It excludes people
    whose work was often rejected; 95 or more is common."""
    min_approved: int | None = Field(default=None, ge=0)
    """Minimum number of a rater's earlier tasks that were approved. The crowd's site checks it. With only a few tasks,
    the approval rate means little."""
    adult: bool = False
    """Admit only raters who agreed to see adult content. The crowd's site checks it. You need this if models may say
    something offensive."""
    masters: bool = False
    """Admit only raters whom the crowd's site calls Masters, for a higher fee. The site checks it. Masters are
    experienced but few, so collection takes longer."""
    qualifications: list[str] = Field(default_factory=list)
    """Admit only raters with all of these qualifications, by their names in the data directory (an earlier practice,
    for example) or on the crowd's site. People who have already proved their skill need no second practice."""
    not_qualifications: list[str] = Field(default_factory=list)
    """Turn away raters with any of these. This keeps out people who know too much, for example from a pilot."""
    allow_list: str = ""
    """File of the only raters who may take part: IDs or pseudonyms, one per line, or a CSV file with a column worker. A
    running launch follows when you save the file."""
    block_list: str = ""
    """File of raters who may not take part, like allow_list. Use it for opt-outs, or for your own lab."""
    exclude_tasks: list[str] = Field(default_factory=list)
    """Earlier studies here whose raters may not take part. What they saw there has shaped their opinions."""
    max_units: int | None = Field(default=None, ge=1)
    """Maximum number of assignments that one rater may begin in this study, over all its launches; null: no limit. It
    keeps a study from depending on a few busy raters."""
    across_tasks: list[str] = Field(default_factory=list)
    """Other studies that count for max_units_across and pair_once. Use it for studies with the same question."""
    max_units_across: int | None = Field(default=None, ge=1)
    """Maximum number of assignments that one rater may begin in this study and those of across_tasks together. A study
    that is split into several then does not use the same people more often."""
    pair_once: bool = False
    """Let a rater rate the same models only once, in any setting of this study and of across_tasks. Raters who compare
    two models a second time remember the first."""

    @field_validator("locales")
    @classmethod
    def _known_places(cls, locales: list[str]) -> list[str]:
        codes = [code.strip().upper() for code in locales]
        for code in codes:
            _check_locale(code)
        return list(dict.fromkeys(codes))

    @field_validator("qualifications", "not_qualifications", "exclude_tasks", "across_tasks")
    @classmethod
    def _named(cls, names: list[str]) -> list[str]:
        if any(not name.strip() for name in names):
            raise ValueError("a name is empty")
        return list(dict.fromkeys(names))

    @model_validator(mode="after")
    def _consistent(self) -> WorkerRules:
        both = set(self.qualifications) & set(self.not_qualifications)
        if both:
            raise ValueError(
                f"{sorted(both)[0]!r} is in both qualifications and not_qualifications, so nobody could take part"
            )
        if self.max_units_across is not None and not self.across_tasks:
            raise InvalidValue(
                "max_units_across needs across_tasks, whose assignments it counts", try_="set them, or max_units"
            )
        if self.across_tasks and self.max_units_across is None and not self.pair_once:
            raise InvalidValue("across_tasks needs max_units_across or pair_once", try_="set one of them")
        return self

    def checked_by_site(self) -> dict[str, str]:
        """Name of a rule that is set and that only a crowd's site can check → the rule in words."""
        worded = {
            "locales": f"live in {', '.join(self.locales)}",
            "min_approval_rate": f"had at least {self.min_approval_rate} % of their work approved",
            "min_approved": f"had at least {self.min_approved} tasks approved",
            "adult": "have agreed to adult content",
            "masters": "are Masters",
        }
        return {name: words for name, words in worded.items() if getattr(self, name) not in (None, False, [])}


def _check_locale(code: str) -> None:
    country, _, part = code.partition("-")
    parts = _parts_of_countries()
    if country not in parts:
        raise ValueError(f"{code!r} is not an ISO 3166 code of a country (US, GB, DE) or of a part of one (US-NY)")
    if part and code not in parts[country]:
        known = ", ".join(sorted(parts[country])[:5])
        raise ValueError(f"{code!r} is not an ISO 3166-2 code in {country}, such as: {known or 'none is known'}")


@cache
def _parts_of_countries() -> dict[str, set[str]]:
    """Country → codes of its parts. The tables are read at the first use only."""
    import pycountry

    parts: dict[str, set[str]] = {country.alpha_2: set() for country in pycountry.countries}
    for part in pycountry.subdivisions:
        parts[part.country_code].add(part.code)
    return parts
