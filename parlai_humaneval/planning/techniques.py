"""What the papers say of each technique's times, habits and losses: the defaults of a plan.

A *judgement* is what enters the test: a rated turn, a compared pair of dialogues, a judged segment, a scored dialogue.
No paper gives the time of practice, nor the time of a turn that may be answered with several; the assumption is named.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Technique = Literal[
    "pw_turn",
    "sata",
    "single_model",
    "free_for_all",
    "arena",
    "direct_assessment",
    "pw_dialog",
    "self_chat",
    "spot_the_bot",
]
TECHNIQUES: tuple[Technique, ...] = get_args(Technique)

ONBOARDING_MINUTES = 2.0
"""Instructions and practice of a new worker: an assumption, no paper tells it."""
EXCLUDED = 0.26
"""Share of dialogues that Liu et al. 2023 (“Data Cleaning”) had to drop."""
ICC = 0.05
"""How alike a worker's answers are. An assumption: win rates of PW-Turn vary between chunks of 45 minutes (Smith et al.
2022, Table 8: 8–11 %) hardly more than independent answers would (10 %)."""
HOURLY_WAGE = 15.0
"""Dollars; Smith et al. 2022 paid “well above minimum wage”."""
FEE = 0.2
"""Amazon Mechanical Turk's; it takes 40 % of tasks posted with ten or more assignments."""
ONE_DIALOGUE_MINUTES = 4.0
"""To hold a dialogue that others judge: Deriu et al. 2020, “On Time Efficiency” (PersonaChat, and ConvAI2)."""


@dataclass(frozen=True)
class Habits:
    """How a technique is run, if nothing else is said.

    Attributes:
        title: its name in the papers.
        settings: its settings; the first is the default, none if it has but one.
        judgement: what one observation is, in the singular.
        turns: turns of a dialogue; where turns are judged, those that count.
        seconds: of a turn that is held, its questions included; of finished dialogues, of a judgement.
        per_worker: dialogues that a worker holds; of finished dialogues, how many judgements they give.
        exclusion: share of dialogues that is lost to checks.
        at_once: are all models in each judgement? Otherwise each pair of models (or each model) has its own.
        discordance: share of judgements that tell two models apart, where ties are possible.
        without_ties: is the win rate that of the judgements that are no tie?
        of_turns: is each turn judged?
        held: do workers hold the dialogues that they judge?
        sources: where the figures come from.
    """

    title: str
    judgement: str
    turns: int
    seconds: float
    per_worker: int
    sources: tuple[str, ...]
    settings: tuple[str, ...] = ()
    exclusion: float = EXCLUDED
    at_once: bool = False
    discordance: float = 1.0
    without_ties: bool = False
    of_turns: bool = True
    held: bool = True


HABITS: dict[Technique, Habits] = {
    "pw_turn": Habits(
        title="PW-Turn",
        judgement="turn",
        turns=6,
        seconds=89,
        per_worker=1,
        sources=(
            "89 s a turn, reasons written: 5.73 hours for 231 ratings (Smith et al. 2022, App. C.1)",
            "6 turns a dialogue (App. C.1); one dialogue a worker, pair and metric (App. B.3)",
        ),
    ),
    "sata": Habits(
        title="SATA",
        settings=("sata_random", "sata_user", "soba"),
        judgement="turn",
        turns=9,
        seconds=38,
        per_worker=1,
        at_once=True,
        discordance=0.85,
        sources=(
            "38 s a turn, an assumption: no paper tells it; a turn of a free-for-all takes that (Ma et al. 2023, Table 2)",
            "10 turns a dialogue, of which the first is dropped; one dialogue a worker and setting (Liu et al. 2023, "
            "“Data Cleaning”)",
            "discordance of two models .85, as in Liu et al. 2023's 667 turns; of more models .49, as mean n·gap²/χ² "
            "of their Table 5",
        ),
    ),
    "single_model": Habits(
        title="SM-Turn",
        judgement="turn",
        turns=6,
        seconds=39,
        per_worker=1,
        sources=(
            "39 s a turn, final ratings included: 4.39 hours for 68 dialogues (Smith et al. 2022, App. C.1)",
            "6 turns a dialogue; one dialogue a worker and model (App. B.3)",
            "a baseline of .8 (Liu et al. 2023, “SM sample size”)",
        ),
    ),
    "free_for_all": Habits(
        title="FFAEval",
        judgement="turn",
        turns=5,
        seconds=37.5,
        per_worker=4,
        at_once=True,
        sources=(
            "37.5 s a turn: 250 minutes for 2,000 responses of 5 models (Ma et al. 2023, Table 2)",
            "5 turns a dialogue (section 4.3); 4 dialogues a worker: 400 turns by 20 annotators",
        ),
    ),
    "arena": Habits(
        title="Arena",
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
    "direct_assessment": Habits(
        title="Direct assessment",
        judgement="scored dialogue",
        turns=10,
        seconds=40,
        per_worker=0,
        exclusion=0.30,
        at_once=True,
        of_turns=False,
        sources=(
            "40 s a turn: 6.68 minutes for a dialogue of 10 turns; 30 % of the dialogues are of workers who fail the "
            "check (Ji et al. 2022, Table 1)",
            "each worker talks with every model and with the degraded one (section 3.2)",
            "a dialogue's score has a standard deviation of 20 points, or .48 standardised (run 1 of their data)",
        ),
    ),
    "pw_dialog": Habits(
        title="PW-Dialog",
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
    "self_chat": Habits(
        title="PW-Dialog on self-chats",
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
    "spot_the_bot": Habits(
        title="Spot The Bot",
        judgement="annotation",
        turns=5,
        seconds=25,
        per_worker=20,
        discordance=0.30,
        without_ties=True,
        of_turns=False,
        held=False,
        sources=(
            "25 s an annotation (Deriu et al. 2020, “On Time Efficiency”)",
            "20 annotations a worker, no dialogue twice; each dialogue at 3 lengths, by 2 workers each (“Domains”, "
            "“Segmentation”, “On Inter-Annotator Agreement”)",
            "30 % of the annotations tell the two bots apart: 65–76 % of the published ones tie",
        ),
    ),
}

SEGMENTS_PER_DIALOGUE = 6
"""Spot The Bot: three lengths, two workers each."""
LIU_DISCORDANCE = {False: 0.85, True: 0.408}
"""Of two models, and of four (a value that gives Liu et al.'s 445 turns; they do not publish theirs)."""
MANY_DISCORDANCE = 0.49
"""Of more than two models: Liu et al. 2023, Tables 4 and 5."""
