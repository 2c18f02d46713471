"""What this package adds, when it is imported."""

from pathlib import Path

from parlai_humaneval.analysis import register_statistic
from parlai_humaneval.report.catalogue import register_section
from parlai_humaneval.techniques import PW_TURN, Technique, register

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
register_statistic("longest_reply", "polite_package.longest_reply")
register_section("longest_replies", "polite_package.longest_replies")
