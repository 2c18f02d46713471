"""The inputs of a plan: checked, and filled in with the papers' values.

Assumptions of a plan that hold for every technique; the entry of a technique holds its own assumptions, as its habits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator

from parlai_humaneval._util.data_files import packaged, read_yaml
from parlai_humaneval._util.errors import HumanevalError, InvalidValue, Problem, choose_from, value_problem
from parlai_humaneval.i18n.translate import worded
from parlai_humaneval.techniques import registry
from parlai_humaneval.techniques.registry import technique

if TYPE_CHECKING:
    from jinja2 import Template


ONBOARDING_MINUTES = 2.0  # Instructions and practice of a new worker: an assumption, no paper tells it
ICC = 0.05
"""How alike a worker's answers are. An assumption: win rates of PW-Turn vary between chunks of 45 minutes (Smith et al.
2022, Table 8: 8–11 %) hardly more than independent answers would (10 %)."""
HOURLY_WAGE = 15.0  # Dollars; Smith et al. 2022 paid “well above minimum wage”.
FEE = 0.2
"""What a crowd's site takes, as a share of what is paid: an assumption, as sites differ and change it."""
ONE_DIALOGUE_MINUTES = 4.0
"""To hold a dialogue that others judge: Deriu et al. 2020, “On Time Efficiency” (PersonaChat, and ConvAI2)."""
REUSE = 5  # Comparisons that each finished dialogue is in; an assumption
LEAST_DIALOGUES = 20  # for one model, reused: with fewer the report says that its answer is about these dialogues
STUDIES = {2: 400, 3: 100, 4: 100, 5: 50}
"""Models → studies of each truth that are simulated, if nothing is said: fewer where each takes longer."""


def plannable() -> dict[str, registry.PlanningDefaults]:
    """Technique → its habits, for all techniques that can be planned."""
    return {name: entry.habits for name, entry in registry.techniques().items() if entry.habits is not None}


Method = Literal["two_variance", "liu2023"]
Tests = Literal["overall", "pairs"]
SMALLEST_GAP = 0.001

Finite = Annotated[float, Field(allow_inf_nan=False)]


class PlanError(HumanevalError, ValueError):
    """A plan that cannot be made; the text says what to change."""

    @classmethod
    def of(cls, name: str, **facts: Any) -> PlanError:
        """Make the error from its words in ``problems.yaml``."""
        return cls(worded(__file__, name, **facts))


class PlanInputs(BaseModel, extra="forbid", frozen=True):
    """The inputs of a plan. None: as in the papers on this technique.

    Attributes:
        technique, setting: how is judged.
        models: number of models.
        gap: smallest difference between the win rates of two models that must be found, 0–1.
        power, alpha: chance to find it, and level of the two-sided test.
        discordance: share of judgements that tell two models apart.
        baseline: share of good turns around which (with ``models=1``: against which) models are rated one at a time.
        turns: turns of a dialogue that count.
        icc: intraclass correlation of the answers of one worker.
        dialogue_icc, dialogue_sd: of finished dialogues that are judged again and again, the intraclass correlation of
            judgements that share one; or, instead, the standard deviation of the quality of one model's dialogues, in
            log-odds of winning.
        rating_sd, rater_sd: if studies stop once decided, standard deviations of ratings as parts of their scale: of one
            rater's, and of how high raters rate.
        worker_inequality: coefficient of variation of the number of judgements of a worker; 0: all give equally many.
        exclusion: share of dialogues that are lost to checks.
        pay: dollars a dialogue (of finished dialogues: a judgement); by default ``wage`` times the minutes.
        wage: dollars an hour, where ``pay`` is not given.
        fee: the platform's, as a share of the pay.
        method: formulas of the textbooks, clustered; or those of Liu et al. 2023.
        shares: how often each model is chosen, from a pilot: shares, or counts where just one is picked.
        dialogues_per_worker: held dialogues; of finished ones, judgements.
        minutes: of a dialogue (of finished dialogues: a judgement), its questions included.
        onboarding: minutes of a new worker before the first one.
        reuse: judgements that each finished dialogue is in.
        dialogue_pay: dollars for a dialogue that is held, or generated, to be judged.
        judge_agreement: share of answers in which a judge agrees with a person, where one answers all dialogues too.
        tests: of more than two models at once, is the plan for the test of all, or for each pair (Bonferroni)?
        degraded: where each worker rates one more model that is bad on purpose: whether this study has it.
        are_held: where finished dialogues are judged: whether they must still be held, or are there already.
        seed: of the simulation.
    """

    technique: str
    setting: str | None = None
    models: Annotated[int, Field(ge=1, le=20)] | None = None
    gap: Finite | None = None
    power: Annotated[Finite, Field(gt=0, lt=1)] = 0.8
    alpha: Annotated[Finite, Field(gt=0, lt=1)] = 0.05
    discordance: Annotated[Finite, Field(gt=0, le=1)] | None = None
    baseline: Annotated[Finite, Field(gt=0, lt=1)] = 0.8
    turns: Annotated[int, Field(ge=1)] | None = None
    icc: Annotated[Finite, Field(ge=0, lt=1)] | None = None
    dialogue_icc: Annotated[Finite, Field(ge=0, lt=1)] | None = None
    dialogue_sd: Annotated[Finite, Field(ge=0)] | None = None
    rating_sd: Annotated[Finite, Field(gt=0, le=0.5)] | None = None
    rater_sd: Annotated[Finite, Field(ge=0, le=0.5)] | None = None
    worker_inequality: Annotated[Finite, Field(ge=0)] = 0.0
    exclusion: Annotated[Finite, Field(ge=0, lt=1)] | None = None
    pay: Annotated[Finite, Field(ge=0)] | None = None
    wage: Annotated[Finite, Field(ge=0)] = HOURLY_WAGE
    fee: Annotated[Finite, Field(ge=0, le=1)] = FEE
    method: Method = "two_variance"
    shares: tuple[Annotated[Finite, Field(ge=0)], ...] | None = None
    dialogues_per_worker: Annotated[Finite, Field(ge=1)] | None = None
    minutes: Annotated[Finite, Field(gt=0)] | None = None
    onboarding: Annotated[Finite, Field(ge=0)] = ONBOARDING_MINUTES
    reuse: Annotated[int, Field(ge=1)] | None = None
    dialogue_pay: Annotated[Finite, Field(ge=0)] | None = None
    judge_agreement: Annotated[Finite, Field(gt=0, le=1)] | None = None
    tests: Tests = "overall"
    degraded: bool = True
    are_held: bool = True
    seed: Annotated[int, Field(ge=0)] = 0

    @field_validator("technique")
    @classmethod
    def _is_known(cls, name: str) -> str:
        if name not in plannable():
            raise InvalidValue(f"there is no plan for {name!r}", **choose_from(name, plannable()))
        return name

    @property
    def entry(self) -> registry.Technique:
        """The technique's entry."""
        return technique(self.technique)

    @property
    def habits(self) -> registry.PlanningDefaults:
        """How the technique is run by default."""
        return plannable()[self.technique]

    @property
    def degraded_model(self) -> bool:
        return self.habits.degraded_model and self.degraded

    @property
    def title(self) -> str:
        """The technique as the papers name it."""
        titles = self.entry.titles
        title = titles.get(self.setting or "", titles.get("", self.entry.title))
        return title.replace("{many}", "MM" if (self.models or 2) > 2 else "PM")

    @model_validator(mode="after")
    def _fits(self) -> PlanInputs:
        for name, is_wrong in _problems(self):
            if is_wrong:
                raise PlanError.of(name, **_facts(self))
        return self

    def filled(self) -> PlanInputs:
        """The same inputs, with the papers' values in place of every None."""
        habits, liu = self.habits, self.method == "liu2023"
        models = self.models or (len(self.shares) if self.shares else 1 if liu and habits.measures == "share" else 2)
        setting = self.setting or (habits.settings[0] if habits.settings else "")
        gap = (
            self.gap
            if self.gap is not None
            else _range_of(normalised(self.shares or (), self.entry.picks_one(setting)))
        )
        minutes = self.minutes or habits.seconds * ((self.turns or habits.turns) if habits.held else 1) / 60
        discordance = self.discordance or default_discordance(self, setting, models)
        found: dict[str, Any] = {
            "models": models,
            "setting": setting,
            "gap": gap,
            "discordance": discordance,
            "turns": self.turns or habits.turns,
            "icc": self.icc if self.icc is not None else 0.0 if liu else ICC,
            "exclusion": habits.exclusion if self.exclusion is None else self.exclusion,
            "minutes": minutes,
            "pay": round(self.wage * minutes / 60, 2) if self.pay is None else self.pay,
            "dialogues_per_worker": self.dialogues_per_worker or habits.per_worker or models + self.degraded,
            "dialogue_icc": 0.0 if habits.held else self.dialogue_icc or 0.0,
            "reuse": self.reuse or habits.judgements_per_dialogue or REUSE,
            "dialogue_pay": 0.0 if self.dialogue_pay is None else self.dialogue_pay,
        }
        if self.dialogue_sd is not None and not habits.held:
            # Launches count minutes by this module, and load no formulas.
            from parlai_humaneval.planning.power import dialogue_icc

            found["dialogue_icc"] = dialogue_icc(self.dialogue_sd, sides=habits.dialogue_sides, discordance=discordance)
        # Dialogues of models alone cost nothing.
        if self.dialogue_pay is None and setting == "human_bot" and self.are_held:
            found["dialogue_pay"] = self.wage * ONE_DIALOGUE_MINUTES / 60
        return self.model_copy(update=found)

    @property
    def clustered(self) -> bool:
        """Whether any answers are correlated, in filled inputs. If not, plans use the papers' tests."""
        return bool(self.icc or self.dialogue_icc)


def ask(**question: object) -> PlanInputs:
    """Check the inputs. Raises PlanError."""
    try:
        return PlanInputs(**question)
    except ValidationError as error:
        raise PlanError(_input_problem(one) for one in error.errors()) from error


def default_discordance(inputs: PlanInputs, setting: str, models: int) -> float:
    """One model is picked of all, or ties are as common as in the papers."""
    habits = inputs.habits
    if habits.chooses_among_all and inputs.entry.picks_one(setting):
        return 2 / max(2, models)
    if inputs.method == "liu2023" and habits.liu2023_discordance:
        return habits.liu2023_discordance[models > 2]
    return habits.discordance_of_many or habits.discordance if models > 2 else habits.discordance


def chance_agreement(inputs: PlanInputs) -> float:
    """How often a judge that guesses agrees with a person, if both answer equally often in each way."""
    good = inputs.baseline if inputs.habits.measures == "share" else 0.5
    return good**2 + (1 - good) ** 2


def normalised(shares: tuple[float, ...], picks_one: bool) -> tuple[float, ...]:
    """Picks become shares of all picks; where several may be chosen, shares stay as they are."""
    total = math.fsum(shares)
    if not picks_one or not total:
        return shares
    return tuple(share / total for share in shares)


def _range_of(shares: tuple[float, ...]) -> float:
    return max(shares) - min(shares)


def _problems(q: PlanInputs) -> Iterator[tuple[str, object]]:
    """What may be wrong with a question, and whether it is, the first first."""
    habits, setting, gap, shares = q.habits, q.setting or "", q.gap, q.shares
    yield "power", q.power <= q.alpha
    yield "setting", setting and setting not in habits.settings
    yield "discordance", q.discordance is not None and (habits.discordance == 1.0 or q.entry.picks_one(setting))
    yield "alone", q.models == 1 and habits.measures != "share"
    yield "too_many", habits.most_models is not None and (q.models or 2) > habits.most_models
    if shares is not None:
        yield "shares_of_others", not habits.chooses_among_all
        yield "shares_count", len(shares) < 2 or len(shares) != (q.models or len(shares))
        yield "shares_above_one", not q.entry.picks_one(setting) and max(shares) > 1
        yield "shares_equal", _range_of(shares) == 0
    yield "no_gap", gap is None and shares is None
    if gap is not None:
        yield "gap_zero", gap == 0
        yield "gap_range", gap < 0 or gap >= 1
        yield "gap_small", gap < SMALLEST_GAP
        yield "shares_gap", shares is not None and abs(_facts(q)["range_of_shares"] - gap) > 0.005
    yield "judge", q.judge_agreement is not None and q.judge_agreement <= chance_agreement(q)
    yield "dialogues_twice", q.dialogue_icc is not None and q.dialogue_sd is not None
    yield "liu_others", q.method == "liu2023" and not habits.in_liu2023


def _facts(q: PlanInputs) -> dict[str, Any]:
    settings, known, shares = q.habits.settings, plannable().items(), q.shares or ()
    return {
        "q": q,
        "choose_setting": f"choose one of: {', '.join(settings)}" if settings else "leave --setting out",
        "of": " ".join(filter(None, (q.technique, q.setting))),
        "having": " and ".join(name for name, habits in known if habits.chooses_among_all),
        "of_liu": ", ".join(name for name, habits in known if habits.in_liu2023),
        "instead": "set --gap instead" if q.gap is None else "leave --shares out",
        "n_shares": len(shares),
        "n_models": q.models or "several",
        "range_of_shares": _range_of(normalised(shares, q.entry.picks_one(q.setting or ""))) if shares else 0.0,
        "chance": chance_agreement(q),
    }


def _input_problem(error: Any) -> Problem:
    problem = value_problem(error)
    if not error["loc"]:
        return problem
    name, text = str(error["loc"][0]), str(error["msg"]).removeprefix("Value error, ")
    advice = read_yaml(packaged("plan_advice.yaml"))
    expected = advice.get(name, text[:1].lower() + text[1:]).removeprefix("input should be ")
    return Problem(f"expected {expected}", where=f"--{name.replace('_', '-')} {error['input']}")


def points(share: float) -> str:
    """“10 points”."""
    return f"{100 * share:.3g} points"


def percent(share: float | None) -> str:
    """“2.5 %”, “20 %”."""
    return f"{100 * (share or 0.0):.1f}".removesuffix(".0") + " %"


_FILLED = (" \n", "\ue000\ue001")
"""Protects blanks and line ends in inserted values: only the template's own text is folded."""


@cache
def text_template(file: str, filled: Callable[[Any], str] | None = None) -> Template:
    """A packaged template of text, which is compiled once; ``filled``: what becomes of each value in it."""
    from jinja2 import Environment, StrictUndefined

    blocks = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False, finalize=filled
    )
    blocks.filters |= {"f": format, "points": points, "percent": percent}
    blocks.filters["times"] = lambda number: {1: "once", 2: "twice"}.get(number, f"{number} times")
    return blocks.from_string(packaged(file).read_text(encoding="utf-8"))


def _filled(value: object) -> str:  # a name, as the template is compiled once for each function
    return str(value).translate(str.maketrans(*_FILLED))


def paragraphs(block: str, **facts: Any) -> tuple[str, ...]:
    """The non-empty paragraphs of a block."""
    template = text_template("plan_words.jinja", _filled)
    text = "".join(template.blocks[block](template.new_context(facts)))
    parts = [" ".join(re.split(r"[ \n]+", part.strip(" \n"))) for part in re.split(r"\n\s*\n", text) if part.strip()]
    return tuple(part.translate(str.maketrans(*reversed(_FILLED))) for part in parts)


def sentence(block: str, **facts: Any) -> str:
    """The only paragraph of a block, or an empty text."""
    return "".join(paragraphs(block, **facts))
