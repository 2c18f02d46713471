"""What tells who somebody is, found in texts, and replaced by a mark.

Telephone numbers by Google's library; the rest by patterns. Names of people who are not known here cannot be found so: that
would need a model of language, which finds some, misses some, and takes others for names. Somebody has to read the texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from mephisto_tasks.crowds.registry import crowds

EMAIL, PHONE, ACCOUNT, CROWD_ID, NAME, WORKER, PATH = (
    "[e-mail]",
    "[telephone]",
    "[account]",
    "[worker id]",
    "[name]",
    "[worker]",
    "[path]",
)
AROUND = 40
"""Letters before and after what was found, for who reviews it."""
LEAST_NAME = 3
"""A part of a name that is shorter may be any word."""


@dataclass(frozen=True)
class Found:
    """``mark`` stands now in place of ``text``; ``before`` and ``after``: some letters around it, as they were."""

    mark: str
    text: str
    before: str
    after: str


_AT = r"(?:\s?[@＠]\s?|\s?[\[({<]\s?(?:at|ät|a|arroba)\s?[\])}>]\s?)"
_DOT = r"(?:[.．]|\s?[\[({<]\s?(?:dot|punkt|punto|ponto|point)\s?[\])}>]\s?)"
_EMAIL = re.compile(rf"[\w.+%-]{{1,64}}{_AT}[\w-]+(?:{_DOT}[\w-]+)+", re.IGNORECASE)
_MAIL_HOSTS = "gmail|googlemail|hotmail|outlook|yahoo|icloud|gmx|proton|protonmail|aol|yandex|qq|163|126"
_DOMAINS = "com|net|org|edu|gov|info|io|de|ch|fr|es|pt|br|mx|uk|ca|au|nl|be|pl|ru|ру|cn|jp|kr|eu"
_SPOKEN_EMAIL = re.compile(
    r"(?<![\w.+%-])[\w.+%-]{1,64}\s(?:at|ät|arroba|собака)\s"
    rf"(?:(?:{_MAIL_HOSTS})\b(?:\.\w+)*(?:\s(?:dot|punkt|punto|ponto|point|точка)\s\w+)*"
    rf"|[\w-]+(?:\s(?:dot|punkt|punto|ponto|точка)\s[\w-]+)*\s(?:dot|punkt|punto|ponto|точка)\s(?:{_DOMAINS})\b)",
    re.IGNORECASE,
)
"""As people spell it out, so that no program sees it."""
_SITES = (
    "facebook|fb|instagram|twitter|x|linkedin|tiktok|youtube|reddit|github|gitlab|medium|threads|mastodon|telegram|t|discord"
    "|snapchat|pinterest|twitch|patreon|onlyfans|vk|weibo|tumblr|flickr|soundcloud|venmo|cash|paypal"
)
_URL_OF_ACCOUNT = re.compile(
    rf"(?:https?://)?(?:[\w-]+\.)?(?:{_SITES})\.(?:com|me|org|net|app|gg|tv|be|ru|social)/[^\s\"'<>)\]]+"
    r"|https?://[^\s\"'<>]*(?:/~|/@|/u/|/user/|/users/|/in/|/profile/|[?&](?:user|id|uid|name)=)[^\s\"'<>)\]]*",
    re.IGNORECASE,
)
_HANDLE = re.compile(r"(?<![\w@/.])@[A-Za-z_][\w.]{2,29}\b")
_TAG = re.compile(r"(?<![\w#])[\w.]{2,32}#\d{4}\b")
_NETWORKS = (
    "insta(?:gram)?|snap(?:chat)?|wechat|weixin|微信号?|telegram|discord|skype|whats ?app|tik ?tok|twitter|kik|qq"
)
_NAMED_ACCOUNT = re.compile(
    rf"(?<![A-Za-z])(?:{_NETWORKS})(?:\s(?:id|name|handle|account|user(?:name)?))?"
    r"(?:\s?[:=：]\s?[\w.#-]{3,32}|\s(?:(?:is|ist|es|est)\s)?(?=[\w.-]*[\d_.#][\w#-])[\w.#-]{4,32})",
    re.IGNORECASE,
)
"""After a network's name: whatever follows a colon, and else what looks like no word."""
_NATIONAL_PHONE = re.compile(
    r"(?<![\d.,+-])(?:[0０٠۰०]\d(?:[ ./()-]{0,2}\d){7,11}|1[3-9]\d{9}|[2-9]\d\d[ .-]\d{3}[ .-]\d{3,4})(?![\d.,-]*\d)"
)
"""As numbers are written at home in countries that nobody named: with a leading 0, a Chinese mobile one, three by three."""
_PSEUDONYM = re.compile(r"\bw[0-9a-f]{12}\b")
_NO_SPACES = re.compile(r"[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
"""Letters of languages that write no space between words."""
_PATH = re.compile(
    r"(?:~|/(?:home|Users|root)|(?<![A-Za-z0-9_])/(?:tmp|var|mnt|data|srv|opt|work))/[^\s\"',;)\]}]+|\b[A-Z]:\\[^\s\"']+"
)


class Cleaner:
    """Cleans texts. ``names``: of workers and of people who were invited; ``regions``: whose national numbers are known.

    ``regions`` are ISO codes of countries; a number with + and its country is found whatever they are.
    """

    def __init__(self, names: Iterable[str], workers: Iterable[str], regions: Sequence[str] = ("US", "GB")) -> None:
        self._regions = regions
        full = {name for name in names if len(name) >= LEAST_NAME or (len(name) > 1 and _NO_SPACES.search(name))}
        parts = {part for name in full for part in re.findall(r"[^\W\d_]+", name) if len(part) >= LEAST_NAME}
        ids = {worker for worker in workers if len(worker) >= 6}
        self._patterns: list[tuple[str, re.Pattern[str]]] = [
            (EMAIL, _EMAIL),
            (EMAIL, _SPOKEN_EMAIL),
            (ACCOUNT, _URL_OF_ACCOUNT),
            (ACCOUNT, _NAMED_ACCOUNT),
            (ACCOUNT, _TAG),
            (ACCOUNT, _HANDLE),
            *_any_of(WORKER, ids, re.IGNORECASE),
            (WORKER, _PSEUDONYM),
            *((CROWD_ID, re.compile(pattern)) for crowd in crowds() for pattern in crowd.private_ids),
            *_any_of(NAME, full, re.IGNORECASE),
            *_any_of(NAME, {part for part in parts if part[0].isupper()}),
            (PATH, _PATH),
        ]

    def clean(self, text: str) -> tuple[str, list[Found]]:
        """The text with marks, and what was found."""
        found: list[Found] = []
        for mark, pattern in self._patterns:
            text = _replaced(text, mark, [match.span() for match in pattern.finditer(text)], found)
        if sum(map(str.isdigit, text)) >= 7:  # no number is shorter; the library takes its time
            text = _replaced(text, PHONE, _phones(text, self._regions), found)
            text = _replaced(text, PHONE, [match.span() for match in _NATIONAL_PHONE.finditer(text)], found)
        return text, found


def _any_of(mark: str, words: Iterable[str], flags: int = 0) -> Iterator[tuple[str, re.Pattern[str]]]:
    longest_first = sorted(words, key=len, reverse=True)
    if longest_first:
        yield mark, re.compile("|".join(map(_by_itself, longest_first)), flags)


def _by_itself(word: str) -> str:
    """A word that is no part of another one; in Chinese or Japanese, say, no space is between words."""
    before = "" if _NO_SPACES.match(word[0]) else r"(?<!\w)"
    after = "" if _NO_SPACES.match(word[-1]) else r"(?!\w)"
    return f"{before}{re.escape(word)}{after}"


def _phones(text: str, regions: Sequence[str]) -> list[tuple[int, int]]:
    from phonenumbers import Leniency, PhoneNumberMatcher

    spans = {
        (match.start, match.end)
        for region in (*regions, None)
        for match in PhoneNumberMatcher(text, region, leniency=Leniency.POSSIBLE if region is None else Leniency.VALID)
    }
    taken: list[tuple[int, int]] = []
    for start, end in sorted(spans, key=lambda span: span[0] - span[1]):
        if all(end <= other[0] or start >= other[1] for other in taken):
            taken.append((start, end))
    return sorted(taken)


def _replaced(text: str, mark: str, spans: Sequence[tuple[int, int]], found: list[Found]) -> str:
    pieces, at = [], 0
    for start, end in spans:
        found.append(Found(mark, text[start:end], text[max(0, start - AROUND) : start], text[end : end + AROUND]))
        pieces += [text[at:start], mark]
        at = end
    return "".join([*pieces, text[at:]])


Cleaning = Callable[[str], str]
"""Gives a text without what tells who somebody is."""
