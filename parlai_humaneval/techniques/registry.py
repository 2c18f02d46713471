"""Techniques of evaluation: one entry each, which everything reads that has to know a technique.

To add one, write its entry and a folder of confs and materials; ``register`` does it from a package of your own
(:mod:`parlai_humaneval._util.plugins`). An entry is plain data: this module imports nothing heavy.

Sources of the wordings: Smith et al. 2022, §3.1.2 (PW-Turn) and §3.1.3 (PW-Dialog), both taken there from Li et al. 2019
(Acute-Eval), word for word; for SM-Turn “Please answer the following:”, from the code that they published (ParlAI's
single_model_eval), with what ticking means added to it. Liu et al. 2023 (“Pairwise-Model Evaluation”), Ma et al. 2023
(§2.1, §3.2; replies are ranked by their question of a turn) and Ji et al. 2022 (§3.1) describe their questions; the
sentences here keep their words (prefer, appropriate, most appropriate to continue, better, agree). They fit two replies as
well as more. Scales stand in :mod:`parlai_humaneval.techniques.criteria` and
:mod:`parlai_humaneval.techniques.criteria`, what is asked of the beginnings of dialogues in
:mod:`parlai_humaneval.techniques.questions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from parlai_humaneval._util.errors import HumanevalError, InvalidValue, choose_from, misspelt
from parlai_humaneval._util.plugins import load_plugins

Engine = Literal["live", "judging"]
"""live: a person talks to models, and rates. judging: a person judges finished dialogues."""
Picks = Literal["one", "any"]
"""Of several replies, one has to be chosen; or any number of them."""
Table = Literal["turns", "dialogues", "comparisons", "ratings", "points", "segments", "judgements"]

EXCLUDED = 0.26
"""Share of dialogues that Liu et al. 2023 (“Data Cleaning”) had to drop."""


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
        without_ties: is the win rate that of the judgements that are no tie?
        of_turns: is each turn judged?
        held: do workers hold the dialogues that they judge?
        degraded_model: does each worker rate one more model, which is bad on purpose?
        judgements_per_dialogue: of a finished dialogue, if the plan says nothing else; None: as of any technique.
        in_liu2023: do Liu et al. 2023 give sample sizes for it?
        note: what must be known beside a plan.
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

    @property
    def dialogue_sides(self) -> int:
        """Finished dialogues in each judgement: two that are compared, or one in which both models speak."""
        return 2 if self.judgements_per_dialogue is None else 1

    @property
    def chooses_among_all(self) -> bool:
        """Whether each judgement is a choice among all models."""
        return self.at_once and self.measures == "choice"


@dataclass(frozen=True)
class Technique:
    """One technique of evaluation.

    Attributes:
        name: as in commands, records, tables and Mephisto's registry.
        engine: which of the two engines runs it.
        title: its name in the papers.
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
    amount: str = "dialogues_per_group"
    demo_amount: int | None = 10
    habits: PlanningDefaults | None = None
    folder: Path | None = None

    @property
    def line(self) -> str:
        """Title, what raters do, and source."""
        return f"{self.title}: {self.summary} ({self.source})"

    def question(self, metric: str, setting: str = "") -> str:
        """What is asked for a metric, in the exact words.

        Raises:
            ValueError: naming the metrics that there are.
        """
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
    """Add a technique.

    Raises:
        ValueError: there is another technique of that name.
    """
    if _KNOWN.setdefault(entry.name, entry) != entry:
        raise ValueError(
            f"there is a technique {entry.name!r} already ({_KNOWN[entry.name].title}): choose another name"
        )


def techniques(engine: Engine | None = None) -> dict[str, Technique]:
    """Name → technique: all, or those of one engine; the published ones first, then those of plug-ins.

    Raises:
        PluginError: a package that adds techniques cannot be loaded.
    """
    load_plugins()
    return {name: entry for name, entry in _KNOWN.items() if engine in (None, entry.engine)}


def technique(name: str) -> Technique:
    """The technique of that name.

    Raises:
        UnknownTechnique: listing those that there are, a line each.
        PluginError: a package that adds techniques cannot be loaded.
    """
    known = techniques()
    if name not in known:
        width = max(map(len, known))
        lines = "\n".join(f"  {other:<{width}}  {entry.title} ({entry.source})" for other, entry in known.items())
        meant = misspelt(name, known, spelled=name.replace("-", "_"))
        raise UnknownTechnique(f"there is no technique {name!r}", misspelt=meant, try_=f"choose one of:\n{lines}")
    return known[name]


def picking(picks: Picks, *, always: bool = True) -> frozenset[str]:
    """Names of techniques and of settings with which so many replies of a turn are chosen.

    ``always``: leave out techniques that have a setting in which it is otherwise.
    """
    return frozenset(
        setting or name
        for name, entry in techniques().items()
        for setting, theirs in entry.picks.items()
        if theirs == picks and (setting or not always or set(entry.picks.values()) == {picks})
    )


def recorded_as(name: str) -> str:
    """The technique that records of a task name: its own name but for a few."""
    entry = techniques().get(name)
    return name if entry is None else entry.recorded_as or name


_OF_SMITH = ("short_messages", "greeting", "capitals", "repeats_first", "offensive")
_SELECT_ALL = {
    "appropriate": (
        "Select all responses from your partner that you think are appropriate. That can be none of them, some, or all."
    )
}

PW_TURN = Technique(
    name="pw_turn",
    engine="live",
    title="PW-Turn",
    summary="two replies at every turn, one is chosen, with a written reason",
    source="Smith et al. 2022, §3.1.2",
    tables=("turns", "dialogues", "comparisons", "points"),
    questions={
        "preference": "Which next response from your partner would you prefer in a long conversation?",
        "humanness": "Which next response from your partner sounds more human?",
        "interestingness": (
            "If you had to say one of these responses is interesting and one is boring, "
            "which would you say is more interesting?"
        ),
    },
    picks={"": "one"},
    checks=_OF_SMITH,
    habits=PlanningDefaults(
        judgement="turn",
        turns=6,
        seconds=89,
        per_worker=1,
        in_liu2023=True,
        sources=(
            "89 s a turn, reasons written: 5.73 hours for 231 ratings (Smith et al. 2022, App. C.1)",
            "6 turns a dialogue (App. C.1); one dialogue a worker, pair and metric (App. B.3)",
        ),
    ),
)
SATA = Technique(
    name="sata",
    engine="live",
    title="SATA",
    summary="at every turn all replies that are appropriate are selected, or the best one",
    source="Liu et al. 2023",
    tables=("turns", "dialogues", "comparisons", "points"),
    questions=_SELECT_ALL,
    questions_of={
        "soba": {
            "appropriate": "Which response from your partner do you prefer? Select the best one, even if none is good."
        }
    },
    picks={"soba": "one", "sata_random": "any", "sata_user": "any"},
    checks=("same_position", "short_tokens"),
    habits=PlanningDefaults(
        settings=("sata_random", "sata_user", "soba"),
        judgement="turn",
        turns=9,
        seconds=38,
        per_worker=1,
        at_once=True,
        discordance=0.85,
        in_liu2023=True,
        sources=(
            "38 s a turn, an assumption: no paper tells it; a turn of a free-for-all takes that (Ma et al. 2023, Table 2)",
            "10 turns a dialogue, of which the first is dropped; one dialogue a worker and setting (Liu et al. 2023, "
            "“Data Cleaning”)",
            "discordance of two models .85, as in Liu et al. 2023's 667 turns; of more models .49, as mean n·gap²/χ² "
            "of their Table 5",
        ),
    ),
)
SINGLE_MODEL = Technique(
    name="single_model",
    engine="live",
    title="SM-Turn",
    summary="one model a chat, rated at every turn and at the end",
    source="Smith et al. 2022, §3.1.4; Liu et al. 2023",
    tables=("turns", "dialogues", "ratings"),
    questions={
        "quality": "Please answer the following: tick each question about this response that you answer with yes.",
        "appropriate": "Is this response from your partner appropriate?",
    },
    checks=_OF_SMITH,
    checks_of={"appropriate": ("short_tokens",)},  # Liu et al.'s fixed selection pattern is not for single models
    habits=PlanningDefaults(
        judgement="turn",
        turns=6,
        seconds=39,
        per_worker=1,
        measures="share",
        in_liu2023=True,
        sources=(
            "39 s a turn, final ratings included: 4.39 hours for 68 dialogues (Smith et al. 2022, App. C.1)",
            "6 turns a dialogue; one dialogue a worker and model (App. B.3)",
            "a baseline of .8 (Liu et al. 2023, “SM sample size”)",
        ),
    ),
)
FREE_FOR_ALL = Technique(
    name="free_for_all",
    engine="live",
    title="FFAEval",
    summary="every model answers every message, and the best reply gets the point",
    source="Ma et al. 2023",
    tables=("turns", "dialogues", "comparisons", "points"),
    questions={"appropriate": "Which response is most appropriate to continue the conversation?"},
    questions_of={
        "many": {"appropriate": "Which responses are appropriate to continue the conversation? Select all of them."}
    },
    picks={"": "one", "many": "any"},
    habits=PlanningDefaults(
        judgement="turn",
        turns=5,
        seconds=37.5,
        per_worker=4,
        at_once=True,
        sources=(
            "37.5 s a turn: 250 minutes for 2,000 responses of 5 models (Ma et al. 2023, Table 2)",
            "5 turns a dialogue (section 4.3); 4 dialogues a worker: 400 turns by 20 annotators",
        ),
        note="Ranks by TrueSkill have no test; the plan is for the test of strengths, which tells the models apart.",
    ),
)
ARENA = Technique(
    name="arena",
    engine="live",
    title="Arena",
    summary="two models side by side, a chat with each, and one verdict",
    source="Ma et al. 2023, §3.2, after Chatbot Arena",
    tables=("turns", "dialogues", "comparisons"),
    questions={"better": "Which partner is better?"},
    habits=PlanningDefaults(
        judgement="verdict",
        turns=5,
        seconds=40,
        per_worker=1,
        discordance=0.85,
        without_ties=True,
        of_turns=False,
        sources=(
            "40 s a turn: 665 minutes for 2,000 responses of 2 models (Chatbot Arena in Ma et al. 2023, Table 2)",
            "15 % ties, an assumption: those of Liu et al. 2023's select-all turns",
        ),
    ),
)
DIRECT_ASSESSMENT = Technique(
    name="direct_assessment",
    engine="live",
    title="Direct assessment",
    summary="several chats, each rated by statements on 0–100 scales, one of a degraded model",
    source="Ji et al. 2022",
    tables=("turns", "dialogues", "ratings"),
    questions={"quality": "How much do you agree with each statement about the conversation that you just had?"},
    checks=("constant_scores", "rank_sum"),
    habits=PlanningDefaults(
        judgement="scored dialogue",
        turns=10,
        seconds=40,
        per_worker=0,
        exclusion=0.30,
        measures="score",
        at_once=True,
        of_turns=False,
        degraded_model=True,
        sources=(
            "40 s a turn: 6.68 minutes for a dialogue of 10 turns; 30 % of the dialogues are of workers who fail the "
            "check (Ji et al. 2022, Table 1)",
            "each worker talks with every model and with the degraded one (section 3.2)",
            "a dialogue's score has a standard deviation of 20 points, or .48 standardised (run 1 of their data)",
        ),
    ),
)
PW_DIALOG = Technique(
    name="pw_dialog",
    engine="judging",
    title="PW-Dialog",
    summary="two finished dialogues, of files or tasks that you name, and whose speaker is better",
    source="Smith et al. 2022, §3.1.3; Acute-Eval",
    tables=("comparisons", "judgements"),
    questions={
        "preference": "Who would you prefer to talk to for a long conversation?",
        "humanness": "Which speaker sounds more human?",
        "interestingness": (
            "If you had to say one of these speakers is interesting and one is boring, who would you say is more "
            "interesting?"
        ),
    },
    checks=("failed_gold", "same_side"),  # the papers on finished dialogues name none
    amount="judgements_per_group",
    habits=PlanningDefaults(
        settings=("human_bot", "self_chat"),
        judgement="comparison",
        turns=6,
        seconds=67,
        per_worker=5,
        of_turns=False,
        held=False,
        sources=(
            "67 s a comparison: 6.03 hours for 324 ratings (Smith et al. 2022, App. C.1)",
            "a dialogue to be compared takes 4 minutes to hold (Deriu et al. 2020, “On Time Efficiency”)",
            "no two dialogues are compared twice (Smith et al. 2022, App. C.7)",
        ),
    ),
)
SELF_CHAT = Technique(
    name="self_chat",
    engine="judging",
    title="PW-Dialog on self-chats",
    summary="models talk to themselves, and two such dialogues are compared",
    source="Smith et al. 2022, §3.1.3; Acute-Eval",
    tables=("comparisons", "judgements"),
    recorded_as="pw_dialog",
    amount="judgements_per_group",
    habits=PlanningDefaults(
        settings=("self_chat",),
        judgement="comparison",
        turns=6,
        seconds=67,
        per_worker=5,
        of_turns=False,
        held=False,
        sources=(
            "67 s a comparison: 6.03 hours for 324 ratings (Smith et al. 2022, App. C.1)",
            "no two dialogues are compared twice (App. C.7)",
        ),
    ),
)
SPOT_THE_BOT = Technique(
    name="spot_the_bot",
    engine="judging",
    title="Spot The Bot",
    summary="beginnings of dialogues, and who in them is a human, and who a bot",
    source="Deriu et al. 2020",
    tables=("segments", "judgements"),
    checks=("failed_gold",),
    amount="num_dialogues",
    habits=PlanningDefaults(
        judgement="annotation",
        turns=5,
        seconds=25,
        per_worker=20,
        discordance=0.30,
        without_ties=True,
        of_turns=False,
        held=False,
        judgements_per_dialogue=6,  # three lengths, two workers each
        sources=(
            "25 s an annotation (Deriu et al. 2020, “On Time Efficiency”)",
            "20 annotations a worker, no dialogue twice; each dialogue at 3 lengths, by 2 workers each (“Domains”, "
            "“Segmentation”, “On Inter-Annotator Agreement”)",
            "30 % of the annotations tell the two bots apart: 65–76 % of the published ones tie",
        ),
        note=(
            "Annotations of one dialogue, at several lengths, are alike too (--dialogue-icc). Count on the win rate of "
            "annotations that are no tie; survival curves use all of them."
        ),
    ),
)
THIRD_PARTY = Technique(
    name="third_party",
    engine="judging",
    title="Third-party ratings",
    summary="recorded dialogues, of tasks that you name, are rated once more by somebody else",
    source="Liu et al. 2023; Ma et al. 2023",
    tables=("turns", "comparisons", "ratings", "judgements"),
    questions={
        "rank": "Rank the responses by how appropriate they are to continue the conversation: 1 is the most appropriate.",
        "dimensions": "How do you rate the responses of the marked speaker in this conversation?",
    },
    checks=("failed_gold",),
    amount="sample",
    demo_amount=None,
)

for _entry in (
    PW_TURN,
    SATA,
    SINGLE_MODEL,
    FREE_FOR_ALL,
    ARENA,
    DIRECT_ASSESSMENT,
    PW_DIALOG,
    SELF_CHAT,
    SPOT_THE_BOT,
    THIRD_PARTY,
):
    register(_entry)
