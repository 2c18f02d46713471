"""What a plan takes for granted of every technique; what is a technique's own stands in its entry, as its habits."""

from __future__ import annotations

from parlai_humaneval.techniques import Habits, techniques

ONBOARDING_MINUTES = 2.0
"""Instructions and practice of a new worker: an assumption, no paper tells it."""
ICC = 0.05
"""How alike a worker's answers are. An assumption: win rates of PW-Turn vary between chunks of 45 minutes (Smith et al.
2022, Table 8: 8–11 %) hardly more than independent answers would (10 %)."""
HOURLY_WAGE = 15.0
"""Dollars; Smith et al. 2022 paid “well above minimum wage”."""
FEE = 0.2
"""Amazon Mechanical Turk's; it takes 40 % of tasks posted with ten or more assignments."""
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


def plannable() -> dict[str, Habits]:
    """Technique → its habits, of all that a study can be planned for."""
    return {name: entry.habits for name, entry in techniques().items() if entry.habits is not None}
