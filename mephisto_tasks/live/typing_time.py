"""When a reply appears: not as soon as a model has it, by which a fast model would be known, but by a rule for all.

All replies of a turn appear together. The rule knows what is said, and never who says it or how long that took. A reply
that comes later than the rule says is shown when it is there: only ``fixed``, with more seconds than the slowest
model needs, hides every difference in speed.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

from parlai_humaneval.showing.reply_settings import ReplySettings

WORDS_PER_S = 4.0
"""Several times as fast as people type: the wait is to hide the models' speed, not to cost raters their time."""
THINKING_S = 1.0
"""Before the first word."""
JITTER = 0.2
"""The part by which a natural wait varies, up or down."""


def typing_seconds(settings: ReplySettings, texts: Iterable[str], chance: str) -> float:
    """Seconds from the rater's message to the replies ``texts``, which appear together; 0: at once.

    ``natural`` goes by the longest of them: the time to think and to type its words, a little more or less by the seed
    ``chance``, and never more than ``typing_seconds``.
    """
    if settings.typing == "none":
        return 0.0
    if settings.typing == "fixed":
        return settings.typing_seconds
    words = max((len(text.split()) for text in texts), default=0)
    varied = 1 + random.Random(f"typing:{chance}").uniform(-JITTER, JITTER)
    return min(settings.typing_seconds, (THINKING_S + words / WORDS_PER_S) * varied)
