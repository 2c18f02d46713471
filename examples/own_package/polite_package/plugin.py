"""What this package adds, when it is imported."""

from pathlib import Path

from parlai_humaneval.analysis import register_statistic
from parlai_humaneval.report.registry import register_section
from parlai_humaneval.techniques.registry import PW_TURN, SELF_CHAT, Technique, register

register(
    Technique(
        name="politeness",
        engine="live",
        title="PoliteTurn",
        summary="two replies at every turn, the more polite one is chosen",
        source="Nobody 2020, §1",
        tables=("turns", "dialogues", "comparisons", "points"),
        questions={"politeness": "Which response is more polite?"},
        picks={"": "one"},
        checks=("short_tokens",),
        habits=PW_TURN.habits,
        folder=Path(__file__).parent / "preset",
    )
)
register(
    Technique(
        name="polite_dialogues",
        engine="judging",
        title="PoliteDialogues",
        summary="two dialogues that models held with themselves, and whose speaker is more polite, or clearer",
        source="Nobody 2020, §3",
        tables=("comparisons", "judgements"),
        questions={"politeness": "Which speaker is more polite?", "clarity": "Which speaker is easier to understand?"},
        checks=("same_side",),
        amount="judgements_per_group",
        habits=SELF_CHAT.habits,
        folder=Path(__file__).parent / "preset_of_dialogues",
    )
)
register_statistic("longest_reply", "polite_package.longest_reply")
register_section("longest_replies", "polite_package.longest_replies")
