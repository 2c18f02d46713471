"""Who may take part: the settings ``mephisto.blueprint.workers.*``, the same wherever raters come from."""

from __future__ import annotations

from functools import cache

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from parlai_humaneval._util.errors import InvalidValue

MOST_LOCALES = 30  # no site takes more of them in one requirement


class WorkerRules(BaseModel):
    """Rules that a crowd's site can enforce become its requirements; all others hold at our own door, in any place."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    locales: list[str] = Field(default_factory=list, max_length=MOST_LOCALES)
    """Where workers live: ISO codes such as US, GB or US-NY (a part of a country, where the crowd's
    site knows it). The site checks it, where it can. It finds people who read the language well."""
    min_approval_rate: int | None = Field(default=None, ge=0, le=100)
    """The least share of their work that was approved, in percent. The crowd's site checks it. It keeps out those
    whose work was often refused; 95 and more is usual."""
    min_approved: int | None = Field(default=None, ge=0)
    """The least number of their tasks that were approved. The crowd's site checks it. The rate says little of somebody
    with few tasks."""
    adult: bool = False
    """Only workers who have agreed to see content for adults. The crowd's site checks it. Needed where models may
    say what offends."""
    masters: bool = False
    """Only workers whom the crowd's site calls Masters, at a higher fee. The site checks it. They are tried and few:
    collecting takes longer."""
    qualifications: list[str] = Field(default_factory=list)
    """Only workers who hold these: names of qualifications in the data directory (an earlier practice, say), or at
    the crowd's site. People who have shown that they can do it need no second practice."""
    not_qualifications: list[str] = Field(default_factory=list)
    """No workers who hold one of these. It keeps those out who know too much, of a pilot say."""
    allow_list: str = ""
    """A file: only these workers may take part. Ids or pseudonyms, one a line, or a CSV file with a column worker.
    A running launch follows when it is saved."""
    block_list: str = ""
    """A file as of ``allow_list``: these workers may not take part. Use it for people who asked not to be invited, or
    for your own lab."""
    exclude_tasks: list[str] = Field(default_factory=list)
    """Earlier studies of this data directory: who rated anything in one of them may not take part. Their opinions are
    formed by what they saw there."""
    max_units: int | None = Field(default=None, ge=1)
    """Units that one worker may begin in this study, over all its launches; null: as many as there are. It keeps a
    study from resting on a few busy workers."""
    across_tasks: list[str] = Field(default_factory=list)
    """Other studies that max_units_across and pair_once look at, too. Studies that ask the same should count as one."""
    max_units_across: int | None = Field(default=None, ge=1)
    """Units that one worker may begin in this study and those of across_tasks together. A study that is split into
    several then has the same people no more often."""
    pair_once: bool = False
    """A worker rates the same models once only: in whatever setting, and not if they did so in one of across_tasks. Who
    compares two models a second time remembers the first."""

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
                f"{sorted(both)[0]!r} stands in qualifications and in not_qualifications: nobody could take part"
            )
        if self.max_units_across is not None and not self.across_tasks:
            raise InvalidValue(
                "max_units_across counts the units of across_tasks, too", try_="name them, or set max_units"
            )
        if self.across_tasks and self.max_units_across is None and not self.pair_once:
            raise InvalidValue("across_tasks goes with max_units_across or pair_once", try_="set one of them")
        return self

    def checked_by_site(self) -> dict[str, str]:
        """Name of a rule that is set and that only a crowd's site can check → the rule in words."""
        worded = {
            "locales": f"live in {', '.join(self.locales)}",
            "min_approval_rate": f"had at least {self.min_approval_rate} % of their work approved",
            "min_approved": f"had at least {self.min_approved} tasks approved",
            "adult": "have agreed to content for adults",
            "masters": "are Masters",
        }
        return {name: words for name, words in worded.items() if getattr(self, name) not in (None, False, [])}


def _check_locale(code: str) -> None:
    country, _, part = code.partition("-")
    parts = _parts_of_countries()
    if country not in parts:
        raise ValueError(f"{code!r} is no ISO 3166 code of a country (US, GB, DE) or of a part of one (US-NY)")
    if part and code not in parts[country]:
        known = ", ".join(sorted(parts[country])[:5])
        raise ValueError(f"{code!r} is no ISO 3166-2 code of a part of {country}; such as: {known or 'none is known'}")


@cache
def _parts_of_countries() -> dict[str, set[str]]:
    """Country → codes of its parts. The tables are read at the first use only."""
    import pycountry

    parts: dict[str, set[str]] = {country.alpha_2: set() for country in pycountry.countries}
    for part in pycountry.subdivisions:
        parts[part.country_code].add(part.code)
    return parts
