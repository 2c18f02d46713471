"""While the models write: what the rater reads, what the models know of the rater, and when the replies appear.

They do not appear as soon as a model has one, by which a fast model would be known, but by a rule for all. All replies of
a turn appear together. The rule knows what is said, and never who says it or how long that took. A reply that comes later
than the rule says is shown when it is there: only ``fixed``, with more seconds than the slowest model needs, hides every
difference in speed.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterable

from mephisto_tasks.session.page import PageSession
from parlai_humaneval.display.settings import ReplySettings
from parlai_humaneval.i18n.translate import phrase
from parlai_humaneval.models.bot_speaker.bot_speaker import BotSpeakerAgent
from parlai_humaneval.schema.events import Delayed

PARTNER_TYPING = phrase("Your partner is typing…")
PARTNERS_TYPING = phrase("Your partners are typing…")
TYPING = (PARTNER_TYPING, PARTNERS_TYPING)
PARTNER_AWAY = phrase("Your partner is not there just now. The reply may take some minutes. Please stay on this page.")
PARTNERS_AWAY = phrase(
    "Your partners are not all there just now. The replies may take some minutes. Please stay on this page."
)
INTERRUPTED = phrase(
    "One moment, please: the connection to your partner was interrupted. The conversation goes on by itself as "
    "soon as it is back, and nothing you wrote is lost. Please stay on this page."
)
PARTNER_SLOW = phrase("Your partner needs a little longer than usual. Please stay on this page.")
WORDS_PER_S = 4.0
"""Several times as fast as people type: the wait is to hide the models' speed, not to cost raters their time."""
THINKING_S = 1.0
"""Before the first word."""
JITTER = 0.2
"""The part by which a natural wait varies, up or down."""


class Waiting:
    """The waits of one conversation: nobody is said to be typing who is not there. Thread-safe.

    Args:
        page: the rater's.
        speaker: may be people, who come and go.
    """

    def __init__(self, page: PageSession, speaker: BotSpeakerAgent) -> None:
        self._page = page
        self._speaker = speaker
        self._turn = 0
        self._open = False
        self._said = PARTNER_TYPING
        self._held = False
        self._lock = threading.Lock()

    def begin(self, turn: int) -> None:
        """The rater has said something, and waits from now on."""
        with self._lock:
            self._turn, self._open = turn, True
            self._hold(False)
            self._say()

    def look(self) -> None:
        """Called again and again, until :meth:`end`: a partner may have come or gone, and so may a server, or the rater."""
        with self._lock:
            self._hold(not self._page.is_here())
            if self._now() != self._said:
                self._say()

    def delayed(self, reason: str) -> None:
        """A model is asked again, or its server is out; one that hangs may say so when the wait has long ended."""
        with self._lock:
            if not self._open:
                return
            self._page.state.note(Delayed(at=time.time(), turn=self._turn, reason=reason))
            if self._now() != self._said:
                self._say()
            elif self._said in TYPING:
                self._page.wait(PARTNER_SLOW, slow=True)

    def end(self) -> None:
        """The replies are there, or never will be."""
        with self._lock:
            self._open = False

    # -- with the lock held

    def _now(self) -> str:
        several = bool(self._page.columns)
        if self._speaker.interrupted():
            return INTERRUPTED
        if self._speaker.absent():
            return PARTNERS_AWAY if several else PARTNER_AWAY
        return TYPING[several]

    def _say(self) -> None:
        self._said = self._now()
        self._page.wait(self._said, idle=self._said not in TYPING)

    def _hold(self, away: bool) -> None:
        if away != self._held:
            self._held = away
            self._speaker.hold(away)


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
