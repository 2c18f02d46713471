"""What is made for all conversations is made once, however many begin at the same moment."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from parlai_humaneval.display import model_names as identity_names
from parlai_humaneval.display.text import made_once
from parlai_humaneval.display.vocabulary import Vocabulary, Words, packaged

ASKING = 16


def test_only_one_of_many_threads_makes_it() -> None:
    """Guards the first replies of a launch: with a plain cache each thread that asks before it is there makes it, too."""
    made: list[int] = []
    start = threading.Barrier(ASKING)

    @made_once(maxsize=8)
    def double(number: int) -> int:
        made.append(number)
        time.sleep(0.02)
        return 2 * number

    def ask(_: int) -> int:
        start.wait()
        return double(4)

    with ThreadPoolExecutor(ASKING) as pool:
        assert list(pool.map(ask, range(ASKING))) == [8] * ASKING
    assert made == [4]


def test_the_words_of_all_languages_are_read_once() -> None:
    """Guards what takes a second of a processor: two hundred who began at once read it two hundred times."""
    start = threading.Barrier(ASKING)
    vocabulary = Vocabulary(Words(languages={"en": packaged().words.languages["en"]}))

    def ask(_: int) -> int:
        start.wait()
        return id(identity_names.talk_phrases(vocabulary))

    with ThreadPoolExecutor(ASKING) as pool:
        assert len(set(pool.map(ask, range(ASKING)))) == 1
