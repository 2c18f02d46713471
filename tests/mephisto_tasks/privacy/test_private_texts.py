"""What tells who somebody is, in texts of real people; and what does not."""

from __future__ import annotations

import pytest

from mephisto_tasks.privacy.anonymize import Cleaner

CLEANER = Cleaner(["Grace Hopper", "grace@example.org", "李雷"], ["prolific-kim", "A1FORGETME77"], ["US", "GB"])


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("write to jane.doe+x@uni-example.ac.uk, please", "write to [e-mail], please"),
        ("jane (at) example (dot) org", "[e-mail]"),
        ("call (212) 555-0188 or +49 30 901820!", "call [telephone] or [telephone]!"),
        ("my number's 020 7946 0958", "my number's [telephone]"),
        ("https://www.instagram.com/jane_d is me, and @jane_d", "[account] is me, and [account]"),
        ("see https://site.example/~jane and x.com/jane", "see [account] and [account]"),
        ("I am A1FORGETME77 on the site", "I am [worker] on the site"),
        ("worker AZ3ABCDEFGHIJ here, 5f3a9c0b1d2e4f5a6b7c8d9e there", "worker [worker id] here, [worker id] there"),
        ("w3f9a0c1b2d4e", "[worker]"),
        ("GRACE HOPPER and Grace came", "[name] and [name] came"),
        ("jane at gmail dot com, jane(a)gmx.de, jörg [ät] gmx punkt de", "[e-mail], [e-mail], jörg [ät] gmx punkt de"),
        ("correo: ana arroba correo punto es; 邮箱：xiaoming＠163．com", "correo: [e-mail]; 邮箱：[e-mail]"),
        ("mobil 0171-1234567, appelle 06 12 34 56 78", "mobil [telephone], appelle [telephone]"),
        ("llámame 612 345 678, 我的手机 13812345678", "llámame [telephone], 我的手机 [telephone]"),
        ("insta: jane_doe and WeChat xiaoming88", "[account] and [account]"),
        ("my instagram is jane.doe; discord jane#1234", "my [account]; [account]"),
        ("我是李雷，你好", "我是[name]，你好"),
        ("/home/jane/models/x.pt failed", "[path] failed"),
        ("of parlai_humaneval/data/corpus.jsonl", "of parlai_humaneval/data/corpus.jsonl"),
    ],
)
def test_is_replaced_by_a_mark(text: str, clean: str) -> None:
    assert CLEANER.clean(text)[0] == clean


@pytest.mark.parametrize(
    "text",
    [
        "I was born in 1984, have 2 dogs and 3 cats, and paid $1,200.50 on 2023-11-20.",
        "Pi is 3.14159265358979 and 2 + 2 = 4; the score was 12345678901234567890.",
        "See https://en.wikipedia.org/wiki/Chatbot for more.",
        "with grace and dignity, as A BETTER ANSWER would",
        "Look at that dot on the wall; Snapchat is fun, my Discord is broken, telegram 2.0 is out",
        "I was at home. Then 100 200 300 came in 0.123456789 seconds.",
        "pw_turn a/b testing and/or @ home, e.g. 10/20/30",
    ],
)
def test_stays_as_it_was(text: str) -> None:
    """A text full of marks is of no use to anybody."""
    assert CLEANER.clean(text) == (text, [])


def test_what_was_found_is_told_with_its_surroundings() -> None:
    (found,) = CLEANER.clean("mail me at jane@example.org tomorrow")[1]
    assert (found.mark, found.text) == ("[e-mail]", "jane@example.org")
    assert (found.before, found.after) == ("mail me at ", " tomorrow")
