"""How long 32 people wait for replies of mixed lengths, next to whole batches.

Our replies are joined between two words.
Both sides give the same replies; of whole batches each is there when the longest of its batch is.
"""

from __future__ import annotations

import random
import time

from benchmarks.conversations import LINES, OurConversation, at_once, talk_for
from benchmarks.figures import Figure, percentile
from benchmarks.serving_models import LONGEST, MODELS, in_words, mixed_lengths
from parlai_humaneval.models.agent.isolation import quiet_parlai
from parlai_humaneval.models.model_pool import ModelPool

CONVERSATIONS = 32
TURNS = 15
TIMEOUT_S = 600.0
THINK_S = 2.0
"""Mean pause before each message."""
NOTE = (
    f"four out of five replies have 4 to 15 words, the others {LONGEST}; before each message, there is a pause of "
    f"{THINK_S:g} s on average. Peer: whole batches, each of which ends with its longest reply, one after the other"
)


def run(quick: bool) -> list[Figure]:
    """Seconds from a message to its reply, of all messages."""
    number, turns, think_s = (3, 2, 0.05) if quick else (CONVERSATIONS, TURNS, THINK_S)
    shape = "quick" if quick else "tiny"
    waits: dict[bool, list[float]] = {}
    for joining in (True, False):
        spec = mixed_lengths(MODELS, shape, joining=joining)
        with quiet_parlai(), ModelPool([spec], retries=0, timeout_s=TIMEOUT_S) as pool:
            talk_for([OurConversation(pool, 0)], 0.5)  # warm up
            waits[joining] = waits_of(pool, number, turns, think_s)
    return [
        Figure(
            name=f"wait for a reply, {number} conversations, mixed lengths, {name}",
            unit="ms",
            ours=1000 * percentile(waits[True], share),
            peer=1000 * percentile(waits[False], share),
            peer_source="same run",
            note=f"{in_words(mixed_lengths, shape)}, {NOTE}",
            repeats=len(waits[True]),
        )
        for name, share in (("p50", 0.5), ("p99", 0.99))
    ]


def waits_of(pool: ModelPool, number: int, turns: int, think_s: float) -> list[float]:
    """Seconds of each turn of ``number`` conversations, which pause before each message."""

    def talk(numbered: tuple[int, OurConversation]) -> list[float]:
        seed, conversation = numbered
        rng, waits = random.Random(seed), []
        for turn in range(turns):
            time.sleep(rng.uniform(0, 2 * think_s))
            started = time.monotonic()
            conversation.turn(LINES[turn % len(LINES)])
            waits.append(time.monotonic() - started)
        return waits

    conversations = [(seed, OurConversation(pool, seed)) for seed in range(number)]
    return [wait for waits in at_once(talk, conversations) for wait in waits]
