"""Techniques of evaluation: one entry each, the only source for all code that depends on a technique.

To add one, write its entry in ``data/techniques.yaml`` and a folder of confs and materials; ``register`` does it from a
package of your own (:mod:`parlai_humaneval._util.plugins`). An entry is plain data: this module imports nothing heavy.

Sources of the wordings: Smith et al. 2022, §3.1.2 (PW-Turn) and §3.1.3 (PW-Dialog), both taken there from Li et al. 2019
(Acute-Eval), word for word; for SM-Turn “Please answer the following:”, from the code that they published (ParlAI's
single_model_eval), with what ticking means added to it. Liu et al. 2023 (“Pairwise-Model Evaluation”), Ma et al. 2023
(§2.1, §3.2; replies are ranked by their question of a turn) and Ji et al. 2022 (§3.1) describe their questions; the
sentences here keep their words (prefer, appropriate, most appropriate to continue, better, agree). They fit two replies as
well as more. Scales are in :mod:`parlai_humaneval.techniques.questions`, what is asked of the beginnings of dialogues in
:mod:`parlai_humaneval.techniques.questions`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import yaml

from parlai_humaneval._util.errors import HumanevalError, InvalidValue, choose_from, misspelt
from parlai_humaneval._util.plugins import load_plugins

Engine = Literal["live", "judging"]
"""live: a person talks to models, and rates. judging: a person judges finished dialogues."""
Picks = Literal["one", "any"]  # one of several replies must be chosen, or any number of them
Table = Literal["turns", "dialogues", "comparisons", "ratings", "points", "segments", "judgements"]
Trait = Literal["points", "sliders", "read_again", "pairs"]
"""What tables and reports treat differently. points: models collect points over a dialogue, as in a free-for-all. sliders:
scales that a table does not name are sliders. read_again: finished dialogues are judged once more; they are compared, and
not counted. pairs: its paper reports pairs of models, so where turns and comparisons say the same, comparisons lead."""

EXCLUDED = 0.26  # Share of dialogues that Liu et al. 2023 (“Data Cleaning”) had to drop.


class UnknownTechnique(HumanevalError, ValueError):
    """There is no technique of that name; the message lists those that there are."""


@dataclass(frozen=True)
class PlanningDefaults:
    """How a technique is run, if nothing else is said: what a plan of a study counts with.

    A *judgement* is what enters the test: a rated turn, a compared pair of dialogues, a judged segment, a scored dialogue.
    No paper gives the time of practice, nor the time of a turn that may be answered with several; the assumption is named.

    Attributes:
        judgement: what one observation is, in the singular.
        turns: turns of a dialogue; where turns are judged, those that count.
        seconds: of a turn that is held, its questions included; of finished dialogues, of a judgement.
        per_worker: dialogues that a worker holds (0: one with each model and one more); of finished dialogues, how many
            judgements they give.
        sources: where the figures come from.
        settings: those that are planned apart; the first is the default, none if there is but one.
        exclusion: share of dialogues that is lost to checks.
        measures: what an observation says: which models were chosen, whether the one model was good, or a score.
        at_once: are all models in each judgement? Otherwise each pair of models (or each model) has its own.
        discordance: share of judgements that tell two models apart, where ties are possible.
        without_ties: does the win rate leave out ties? of_turns: is each turn judged? held: do workers hold the
        dialogues that they judge? degraded_model: does each worker rate one more model, which is bad on purpose?
        judgements_per_dialogue: of a finished dialogue, if the plan says nothing else; None: as of any technique.
        in_liu2023: do Liu et al. 2023 give sample sizes for it? note: a warning to print with a plan. same_size:
        settings that need as many judgements as another one, which a comparison of techniques has already. most_models:
        that a judgement can show. discordance_of_many: share of judgements that tell two models apart when there are
        more than two. liu2023_discordance: what Liu et al. 2023 count with: for two models, and for more. minimums: of
        turns, in packaged studies that the worker ends.
    """

    judgement: str
    turns: int
    seconds: float
    per_worker: int
    sources: tuple[str, ...]
    settings: tuple[str, ...] = ()
    exclusion: float = EXCLUDED
    measures: Literal["choice", "share", "score"] = "choice"
    at_once: bool = False
    discordance: float = 1.0
    without_ties: bool = False
    of_turns: bool = True
    held: bool = True
    degraded_model: bool = False
    judgements_per_dialogue: int | None = None
    in_liu2023: bool = False
    note: str = ""
    same_size: tuple[str, ...] = ()
    most_models: int | None = None
    discordance_of_many: float | None = None
    liu2023_discordance: tuple[float, float] | None = None
    minimums: tuple[int, ...] = ()

    @property
    def dialogue_sides(self) -> int:
        """Finished dialogues in each judgement: two that are compared, or one in which both models speak."""
        return 2 if self.judgements_per_dialogue is None else 1

    @property
    def chooses_among_all(self) -> bool:
        """Whether each judgement is a choice among all models."""
        return self.at_once and self.measures == "choice"

    def turns_within(self, least: int, most: int) -> int:
        """Turns to count for a dialogue that the worker ends after ``least`` of them: as in the papers after a minimum of
        theirs, but no more than ``most``. After any other minimum just that many, as in a plan for so many turns."""
        return min(most, max(least, self.turns)) if least in self.minimums else least


@dataclass(frozen=True)
class Technique:
    """One technique of evaluation.

    Attributes:
        name: as in commands, records, tables and Mephisto's registry.
        engine: which of the two engines runs it.
        title: its name in the papers.
        titles: setting → title of a plan, where it is not ``title``; "" is any other setting, {many} is PM or MM.
        summary: what raters do, in half a line.
        source: paper and section.
        tables: those that its answers fill.
        questions: metric → question, in the exact words.
        questions_of: setting → the same, where a setting has words of its own.
        picks: setting → how many replies of a turn are chosen; "" is any other setting. Empty: by what raters did.
        checks: quality checks that its paper uses.
        checks_of: setting or metric → the same, where they differ.
        recorded_as: the technique that its records name, where it is only another way to get the dialogues of that one.
        amount: the setting that says how much to collect; ``demo --dialogues`` sets it.
        traits: what tables and reports treat differently (``Trait``).
        demo_amount: so many in a demo, where nobody says how many; None: all that there are.
        habits: what plans count with; None: a study of it cannot be planned.
        folder: of ``hydra_configs/conf`` and ``task_config``; None: the folder ``mephisto_tasks/presets/NAME``.
    """

    name: str
    engine: Engine
    title: str
    summary: str
    source: str
    tables: tuple[Table, ...]
    questions: Mapping[str, str] = field(default_factory=dict)
    questions_of: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    picks: Mapping[str, Picks] = field(default_factory=dict)
    checks: tuple[str, ...] = ()
    checks_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    recorded_as: str = ""
    traits: tuple[Trait, ...] = ()
    amount: str = "dialogues_per_group"
    demo_amount: int | None = 10
    habits: PlanningDefaults | None = None
    titles: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None

    @property
    def line(self) -> str:
        """Title, what raters do, and source."""
        return f"{self.title}: {self.summary} ({self.source})"

    def question(self, metric: str, setting: str = "") -> str:
        """What is asked for a metric, in the exact words. Raises ValueError: naming the metrics that there are."""
        questions = self.questions_of.get(setting, self.questions)
        if metric not in questions:
            raise InvalidValue(f"{self.name} has no metric {metric!r}", **choose_from(metric, questions))
        return questions[metric]

    def picks_one(self, setting: str = "") -> bool:
        """Whether one reply of several has to be chosen."""
        return self.picks.get(setting, self.picks.get("")) == "one"

    def checks_for(self, setting: str = "", metric: str = "") -> tuple[str, ...]:
        """Names of the quality checks that the paper uses."""
        return self.checks_of.get(setting) or self.checks_of.get(metric) or self.checks


_KNOWN: dict[str, Technique] = {}


def register(entry: Technique) -> None:
    """Add a technique. Raises ValueError."""
    if _KNOWN.setdefault(entry.name, entry) != entry:
        what = f"there is a technique {entry.name!r} already ({_KNOWN[entry.name].title})"
        raise InvalidValue(what, try_="choose another name")


def techniques(engine: Engine | None = None) -> dict[str, Technique]:
    """Name → technique: all, or those of one engine; the published ones first, then those of plug-ins. Raises
    PluginError."""
    load_plugins()
    return {name: entry for name, entry in _KNOWN.items() if engine in (None, entry.engine)}


def technique(name: str) -> Technique:
    """The technique of that name. Raises UnknownTechnique, PluginError."""
    known = techniques()
    if name not in known:
        width = max(map(len, known))
        lines = "\n".join(f"  {other:<{width}}  {entry.title} ({entry.source})" for other, entry in known.items())
        meant = misspelt(name, known, spelled=_plain(name))
        raise UnknownTechnique(f"there is no technique {name!r}", misspelt=meant, try_=f"choose one of:\n{lines}")
    return known[name]


def typed_technique(word: str) -> tuple[str, str]:
    """The technique that is meant by its name or a title of it, in any case, with -, _ or spaces; and the setting that a
    title is for, or "". Another word is returned as it is."""
    known = techniques()
    meant = {_plain(name): (name, "") for name in known}
    for name, entry in known.items():
        for setting, title in [("", entry.title), *entry.titles.items()]:
            of_title = (setting, "") if setting in known else (name, setting if setting in entry.picks else "")
            for many in ("PM", "MM"):
                meant.setdefault(_plain(title.replace("{many}", many)), of_title)
    return meant.get(_plain(word), (word, ""))


def _plain(words: str) -> str:
    return re.sub(r"[\W_]+", "_", words.casefold()).strip("_")


def picking(picks: Picks, *, always: bool = True) -> frozenset[str]:
    """Names of techniques and of settings with which so many replies of a turn are chosen. ``always``: leave out
    techniques that have a setting in which it is otherwise."""
    return frozenset(
        setting or name
        for name, entry in techniques().items()
        for setting, theirs in entry.picks.items()
        if theirs == picks and (setting or not always or set(entry.picks.values()) == {picks})
    )


def with_trait(trait: Trait) -> frozenset[str]:
    """Names of the techniques that have a trait: nobody else compares names."""
    return frozenset(name for name, entry in techniques().items() if trait in entry.traits)


def recorded_as(name: str) -> str:
    """The technique that records of a task name: its own name but for a few."""
    entry = techniques().get(name)
    return name if entry is None else entry.recorded_as or name


def _register_published() -> None:
    """Those of this package, without pydantic, which takes time that commands have not got at their start."""
    file = Path(__file__).resolve().parents[1] / "data" / "techniques.yaml"
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for name, told in _with_tuples(yaml.load(file.read_text(encoding="utf-8"), loader)).items():
        habits = told.pop("habits", None)
        register(Technique(name, **told, habits=None if habits is None else PlanningDefaults(**habits)))


def _with_tuples(told: Any) -> Any:
    if isinstance(told, dict):
        return {key: _with_tuples(value) for key, value in told.items()}
    return tuple(told) if isinstance(told, list) else told


_register_published()

PW_TURN = _KNOWN["pw_turn"]
SATA = _KNOWN["sata"]
SINGLE_MODEL = _KNOWN["single_model"]
FREE_FOR_ALL = _KNOWN["free_for_all"]
ARENA = _KNOWN["arena"]
DIRECT_ASSESSMENT = _KNOWN["direct_assessment"]
PW_DIALOG = _KNOWN["pw_dialog"]
SELF_CHAT = _KNOWN["self_chat"]
SPOT_THE_BOT = _KNOWN["spot_the_bot"]
THIRD_PARTY = _KNOWN["third_party"]
