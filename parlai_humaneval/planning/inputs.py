"""What a plan is asked for: checked, and filled up with what the papers do.

What a plan takes for granted of every technique; what is a technique's own stands in its entry, as its habits.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from parlai_humaneval._util.errors import HumanevalError, Problem, value_problem
from parlai_humaneval.planning.design_effect import dialogue_icc
from parlai_humaneval.techniques.registry import PlanningDefaults, Technique, technique, techniques

ONBOARDING_MINUTES = 2.0
"""Instructions and practice of a new worker: an assumption, no paper tells it."""
ICC = 0.05
"""How alike a worker's answers are. An assumption: win rates of PW-Turn vary between chunks of 45 minutes (Smith et al.
2022, Table 8: 8–11 %) hardly more than independent answers would (10 %)."""
HOURLY_WAGE = 15.0
"""Dollars; Smith et al. 2022 paid “well above minimum wage”."""
FEE = 0.2
"""What a crowd's site takes, as a share of what is paid; some take 40 % of tasks posted with ten or more assignments."""
ONE_DIALOGUE_MINUTES = 4.0
"""To hold a dialogue that others judge: Deriu et al. 2020, “On Time Efficiency” (PersonaChat, and ConvAI2)."""
REUSE = 5
"""Comparisons that each finished dialogue is in; an assumption."""
LEAST_DIALOGUES = 20
"""Of one model, reused: with fewer the report says that its answer is about these dialogues."""
LIU_DISCORDANCE = {False: 0.85, True: 0.408}
"""Of two models, and of four (a value that gives Liu et al.'s 445 turns; they do not publish theirs)."""
MANY_DISCORDANCE = 0.49
"""Of more than two models: Liu et al. 2023, Tables 4 and 5."""


def plannable() -> dict[str, PlanningDefaults]:
    """Technique → its habits, of all that a study can be planned for."""
    return {name: entry.habits for name, entry in techniques().items() if entry.habits is not None}


Method = Literal["two_variance", "liu2023"]
Tests = Literal["overall", "pairs"]
SMALLEST_GAP = 0.001

Finite = Annotated[float, Field(allow_inf_nan=False)]


class PlanError(HumanevalError, ValueError):
    """A plan that cannot be made; the text says what to change."""


class PlanInputs(BaseModel):
    """The question. None: what the papers do with this technique.

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
        seed: of the simulation.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

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
    seed: Annotated[int, Field(ge=0)] = 0

    @field_validator("technique")
    @classmethod
    def _is_known(cls, name: str) -> str:
        if name not in plannable():
            raise ValueError("one of " + ", ".join(plannable()))
        return name

    @property
    def entry(self) -> Technique:
        """The technique itself."""
        return technique(self.technique)

    @property
    def habits(self) -> PlanningDefaults:
        """How the technique is run, if nothing else is said."""
        return plannable()[self.technique]

    @property
    def title(self) -> str:
        """The technique as the papers name it."""
        if self.technique != "sata":
            return {"human_bot": "PW-Dialog (human–bot)", "self_chat": "PW-Dialog (self-chat)"}.get(
                self.setting or "", self.entry.title
            )
        kind = {"soba": "SOBA", "sata_user": "SATA-User"}.get(self.setting or "", "SATA-Random")
        return f"{'MM' if (self.models or 2) > 2 else 'PM'}-{kind}"

    @model_validator(mode="after")
    def _fits(self) -> PlanInputs:
        _check_rates(self)
        _check_setting(self)
        _check_models(self)
        _check_gap(self)
        _check_judge(self)
        if self.dialogue_icc is not None and self.dialogue_sd is not None:
            raise PlanError(
                "--dialogue-icc and --dialogue-sd both say how much dialogues differ", try_="give one of them"
            )
        if self.method == "liu2023" and not self.habits.in_liu2023:
            theirs = [name for name, habits in plannable().items() if habits.in_liu2023]
            raise PlanError(
                f"--method liu2023 plans {', '.join(theirs)} only: Liu et al. did not use {self.technique}",
                try_="leave --method out",
            )
        return self

    def filled(self) -> PlanInputs:
        """The same question, with what the papers do in place of every None."""
        habits, liu = self.habits, self.method == "liu2023"
        models = self.models or (len(self.shares) if self.shares else 1 if liu and self._single else 2)
        setting = self.setting or (habits.settings[0] if habits.settings else "")
        gap = self.gap if self.gap is not None else _range_of(normalised(self.shares or (), setting))
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
            "dialogues_per_worker": self.dialogues_per_worker or habits.per_worker or models + 1,
            "dialogue_icc": self._likeness_of_dialogues(discordance),
            "reuse": self.reuse or habits.judgements_per_dialogue or REUSE,
            "dialogue_pay": self._pay_for_dialogue(setting),
        }
        return self.model_copy(update=found)

    def _likeness_of_dialogues(self, discordance: float) -> float:
        if self.habits.held:
            return 0.0
        if self.dialogue_sd is not None:
            return dialogue_icc(self.dialogue_sd, sides=self.habits.dialogue_sides, discordance=discordance)
        return self.dialogue_icc or 0.0

    def _pay_for_dialogue(self, setting: str) -> float:
        """Dialogues of models alone cost nothing, unless something is said."""
        if self.dialogue_pay is not None:
            return self.dialogue_pay
        return self.wage * ONE_DIALOGUE_MINUTES / 60 if setting == "human_bot" else 0.0

    @property
    def clustered(self) -> bool:
        """Is anything alike, of a question that is filled up? Otherwise the papers' tests are planned for."""
        return bool(self.icc or self.dialogue_icc)

    @property
    def _single(self) -> bool:
        return self.habits.measures == "share"


def ask(**question: object) -> PlanInputs:
    """The checked question.

    Raises:
        PlanError: something is wrong; all faults, one a line.
    """
    try:
        return PlanInputs(**question)
    except ValidationError as error:
        raise PlanError(_input_problem(one) for one in error.errors()) from error


def default_discordance(inputs: PlanInputs, setting: str, models: int) -> float:
    """One model is picked of all, or ties are as common as in the papers."""
    if inputs.habits.chooses_among_all and inputs.entry.picks_one(setting):
        return 2 / max(2, models)
    if inputs.technique == "sata":
        if inputs.method == "liu2023":
            return LIU_DISCORDANCE[models > 2]
        return MANY_DISCORDANCE if models > 2 else inputs.habits.discordance
    return inputs.habits.discordance


def chance_agreement(inputs: PlanInputs) -> float:
    """How often a judge who knows nothing agrees with a person: of two answers that are as common as the person's."""
    good = inputs.baseline if inputs.habits.measures == "share" else 0.5
    return good**2 + (1 - good) ** 2


def normalised(shares: tuple[float, ...], setting: str) -> tuple[float, ...]:
    """Picks become shares of all picks; where several may be chosen, shares stay as they are."""
    total = math.fsum(shares)
    if setting in ("sata_random", "sata_user") or not total:
        return shares
    return tuple(share / total for share in shares)


def _range_of(shares: tuple[float, ...]) -> float:
    return max(shares) - min(shares)


def _check_rates(inputs: PlanInputs) -> None:
    if inputs.power <= inputs.alpha:
        raise PlanError(
            f"--power {inputs.power:g} is not above --alpha {inputs.alpha:g}: a test of chance alone has that power",
            try_="ask for a power such as 0.8",
        )


def _check_setting(inputs: PlanInputs) -> None:
    known = inputs.habits.settings
    if inputs.setting and inputs.setting not in known:
        expected = f"expected {', '.join(known)}" if known else "it has none; leave --setting out"
        raise PlanError(f"--setting {inputs.setting!r} of {inputs.technique}: {expected}")
    fixed = inputs.habits.discordance == 1.0 or inputs.entry.picks_one(inputs.setting or "")
    if inputs.discordance is not None and fixed:
        raise PlanError(
            f"--discordance is for techniques with ties, and {' '.join(filter(None, (inputs.technique, inputs.setting)))} "
            "asks for a choice or rates one model",
            try_="leave --discordance out",
        )


def _check_models(inputs: PlanInputs) -> None:
    if inputs.models == 1 and inputs.habits.measures != "share":
        raise PlanError(
            f"{inputs.technique} compares models: --models must be 2 or more (single_model can rate one alone, "
            "against --baseline)"
        )
    if inputs.technique == "sata" and (inputs.models or 2) > 12:
        raise PlanError("sata shows all models at once: plan for at most 12")
    if inputs.shares is None:
        return
    if not inputs.habits.chooses_among_all:
        instead = "give --gap instead" if inputs.gap is None else "leave --shares out"
        having = [name for name, habits in plannable().items() if habits.chooses_among_all]
        raise PlanError(f"shares of a pilot are for {' and '.join(having)}, not for {inputs.technique}", try_=instead)
    if len(inputs.shares) < 2 or len(inputs.shares) != (inputs.models or len(inputs.shares)):
        raise PlanError(
            f"{len(inputs.shares)} shares for {inputs.models or 'several'} models: expected one share a model"
        )
    picked = inputs.entry.picks_one(inputs.setting or "")
    if not picked and max(inputs.shares) > 1:
        raise PlanError("where several models may be chosen, each share is from 0 to 1, such as .35,.25,.30,.30")
    if math.fsum(inputs.shares) == 0 or _range_of(inputs.shares) == 0:
        raise PlanError("all shares are equal: there is no difference to be found")


def _check_gap(inputs: PlanInputs) -> None:
    gap = inputs.gap
    if gap is None:
        if inputs.shares is None:
            raise PlanError("give the smallest difference of two win rates that you must find, such as --gap 0.1")
        return
    if gap == 0:
        raise PlanError(
            "--gap 0: no study can find a difference that is not there", try_="give, say, --gap 0.1 for ten points"
        )
    if gap < 0 or gap >= 1:
        raise PlanError(f"--gap {gap:g}: expected a share above 0 and below 1", try_="write ten points as --gap 0.1")
    if gap < SMALLEST_GAP:
        raise PlanError(f"--gap {gap:g}: a tenth of a point (0.001) is the smallest that can be planned for")
    if inputs.shares is not None:
        told = _range_of(normalised(inputs.shares, inputs.setting or "sata_random"))
        if abs(told - gap) > 0.005:
            raise PlanError(f"the shares differ by {told:.3g}, the --gap is {gap:g}", try_="give one of them")


def _check_judge(inputs: PlanInputs) -> None:
    chance = chance_agreement(inputs)
    if inputs.judge_agreement is not None and inputs.judge_agreement <= chance:
        raise PlanError(
            f"--judge-agreement {inputs.judge_agreement:g}: chance alone agrees in {chance:.2g} of "
            f"{inputs.technique}'s answers, so that such a judge saves nothing",
            try_=f"give the share of answers in which judge and person agree, above {chance:.2g}, or leave it out",
        )


ADVICE = {
    "models": "a whole number from 2 to 20",
    "power": "a share above 0 and below 1, such as 0.8",
    "alpha": "a share above 0 and below 1, such as 0.05",
    "discordance": "a share above 0, at most 1: 0.85 where 15 % are ties",
    "baseline": "a share above 0 and below 1, such as 0.8",
    "turns": "a whole number from 1",
    "icc": "at least 0 and below 1, such as 0.05; with 1, all answers of a worker would be one answer",
    "dialogue_icc": "at least 0 and below 1, such as 0.08",
    "dialogue_sd": "a standard deviation in log-odds, not negative, such as 0.7",
    "worker_inequality": "a coefficient of variation, not negative: 0 where all give equally many, about 1 of most crowds",
    "exclusion": "a share from 0, below 1: 0.26 for 26 %",
    "pay": "dollars, not negative",
    "wage": "dollars an hour, not negative",
    "fee": "a share from 0 to 1: 0.2 for 20 %",
    "dialogues_per_worker": "a number from 1",
    "dialogue_pay": "dollars, not negative",
    "minutes": "minutes, above 0",
    "onboarding": "minutes, not negative",
    "reuse": "a whole number from 1",
    "judge_agreement": "a share of answers, at most 1, such as 0.7 where judge and person agree in 70 %",
    "seed": "a whole number, not negative",
}


def _input_problem(error: Any) -> Problem:
    problem = value_problem(error)
    if not error["loc"]:
        return problem
    name, text = str(error["loc"][0]), str(error["msg"]).removeprefix("Value error, ")
    expected = ADVICE.get(name, text[:1].lower() + text[1:]).removeprefix("input should be ")
    return Problem(f"expected {expected}", where=f"--{name.replace('_', '-')} {error['input']}")
