"""Tidy tables → the same with random names, coarse times, redacted texts, and rows in a random order.

The random names exist in memory alone: when the command has ended, nobody can link them to the originals.

In texts, what tells who somebody is gets a mark in its place: telephone numbers by Google's library, the rest by
patterns. Names of people who are not known here cannot be found so: that would need a model of language, which finds
some, misses some, and takes others for names. Somebody has to read the texts."""

from __future__ import annotations

import json
import re
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import pandas as pd

from mephisto_tasks.crowds.registry import crowds
from parlai_humaneval._util.data_files import read_yaml
from parlai_humaneval.schema.records import DialogueRecord, Rated
from parlai_humaneval.tables.columns import Tables, typed
from parlai_humaneval.tables.schema import TableName

EMAIL, PHONE, ACCOUNT, CROWD_ID = "[e-mail]", "[telephone]", "[account]", "[worker id]"
NAME, WORKER, PATH = "[name]", "[worker]", "[path]"
AROUND = 40  # letters before and after each mark, for the reviewer
LEAST_NAME = 3  # a part of a name that is shorter may be any word


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
)  # as people spell it out, so that no program sees it
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
)  # after a network's name: whatever follows a colon, and else what looks like no word
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
    """Cleans texts of ``names`` (workers', invited people's) and numbers, national ones of ``regions`` (ISO codes)."""

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
        found: list[Found] = []
        for mark, pattern in self._patterns:
            text = _replaced(text, mark, [match.span() for match in pattern.finditer(text)], found)
        if sum(map(str.isdigit, text)) >= 7:  # no number is shorter; the library takes its time
            from phonenumbers import Leniency, PhoneNumberMatcher

            spans = {
                (match.start, match.end)
                for region in (*self._regions, None)
                for match in PhoneNumberMatcher(
                    text, region, leniency=Leniency.POSSIBLE if region is None else Leniency.VALID
                )
            }
            taken: list[tuple[int, int]] = []
            for start, end in sorted(spans, key=lambda span: span[0] - span[1]):
                if all(end <= other[0] or start >= other[1] for other in taken):
                    taken.append((start, end))
            text = _replaced(text, PHONE, sorted(taken), found)
            text = _replaced(text, PHONE, [match.span() for match in _NATIONAL_PHONE.finditer(text)], found)
        return text, found


def _any_of(mark: str, words: Iterable[str], flags: int = 0) -> Iterator[tuple[str, re.Pattern[str]]]:
    longest_first = sorted(words, key=len, reverse=True)
    if longest_first:
        yield mark, re.compile("|".join(map(_by_itself, longest_first)), flags)


def _by_itself(word: str) -> str:
    """A word that is not part of another one; Chinese and Japanese have no spaces between words."""
    before = "" if _NO_SPACES.match(word[0]) else r"(?<!\w)"
    after = "" if _NO_SPACES.match(word[-1]) else r"(?!\w)"
    return f"{before}{re.escape(word)}{after}"


def _replaced(text: str, mark: str, spans: Sequence[tuple[int, int]], found: list[Found]) -> str:
    pieces, at = [], 0
    for start, end in spans:
        found.append(Found(mark, text[start:end], text[max(0, start - AROUND) : start], text[end : end + AROUND]))
        pieces += [text[at:start], mark]
        at = end
    return "".join([*pieces, text[at:]])


Coarse = Literal["day", "week"]
FIRST_DAY = pd.Timestamp("2000-01-01", tz="UTC")  # replaces the day on which a study began

Kind = Literal["worker", "dialogue", "judgement", "item", "session", "candidate", "run"]
COLUMNS: dict[str, Any] = read_yaml(Path(__file__).with_name("columns.yaml"))
_IN_JSON = COLUMNS["json"]
_OUR_CANDIDATE = re.compile(r"[0-9a-f]{12,32}")


@dataclass(frozen=True)
class Review:
    """A finding in a cell; ``row``: the id by which the release names its dialogue or judgement."""

    table: str
    column: str
    row: str
    found: Found


@dataclass
class Names:
    """Names drawn by lot, the same for the same thing in all tables of one release."""

    given: dict[tuple[Kind, str], str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    def of(self, kind: Kind, name: str) -> str:
        """The new name; what follows a colon (a turn, “verdict”, a model) is kept behind that of a dialogue."""
        base, colon, rest = name.partition(":")
        if kind == "item":
            # For a dialogue's own turns, the item is the dialogue and the turn; other items have their own names.
            if ("dialogue", base) in self.given and colon:
                return f"{self.given['dialogue', base]}:{rest}"
            end = ":verdict" if name.endswith(":verdict") else ""
            return self._drawn(kind, name) + end
        return f"{self._drawn(kind, base)}{colon}{rest}" if kind == "dialogue" else self._drawn(kind, name)

    def _drawn(self, kind: Kind, name: str) -> str:
        while (kind, name) not in self.given:
            drawn = f"{kind[0]}{secrets.token_hex(6)}"
            if drawn not in self.taken:
                self.taken.add(drawn)
                self.given[kind, name] = drawn
        return self.given[kind, name]


class Anonymizer:
    """Makes the tables of one release; used once. ``reviews``: all that was found in texts. ``digests``: of pictures, which
    a study that is still served shows to whoever knows them."""

    def __init__(self, cleaner: Cleaner, coarse: Coarse, *, digests: bool = False) -> None:
        self._cleaner, self._coarse = cleaner, coarse
        self._dropped = (*_IN_JSON["dropped"], *(() if digests else ("digest",)))
        self._names = Names()
        self._cleaned: dict[str, tuple[str, list[Found]]] = {}
        self.reviews: list[Review] = []

    def tables(self, tables: Tables) -> Tables:
        times = pd.concat([tables.dialogues["started"], tables.judgements["started"]]).dropna()
        read = pd.to_datetime(times, utc=True, errors="coerce", format="ISO8601").dropna()
        began = None if read.empty else read.min().floor("D")
        for name in get_args(TableName):  # dialogues are named before the items that are made of them
            frame = getattr(tables, name)
            for column in ("dialogue_id", "dialogue_a", "dialogue_b"):
                for value in frame[column].dropna() if column in frame else ():
                    self._names.of("dialogue", str(value))
        names = get_args(TableName)
        changed: dict[str, Any] = {name: self._table(name, getattr(tables, name), began) for name in names}
        return replace(tables, **changed)

    def _table(self, table: TableName, frame: pd.DataFrame, began: pd.Timestamp | None) -> pd.DataFrame:
        if frame.empty:
            return frame
        rows = frame.astype(object).where(frame.notna(), None)
        columns = list(map(str, rows.columns))
        cells = {column: self._column(table, column, rows, began) for column in columns if column not in COLUMNS["ids"]}
        ids = {column: partial(self._names.of, kind) for column, kind in COLUMNS["ids"].items() if column in rows}
        cells |= {column: [_mapped(value, rename) for value in rows[column]] for column, rename in ids.items()}
        new = pd.DataFrame(cells, index=rows.index, columns=columns)
        # Names are drawn by lot, so that in their order nothing is left of the order of time. Rows of one stay together.
        by = [column for column in ("dialogue_id", "judgement_id", "item_id") if column in new]
        ordered = new.sort_values(by, kind="stable", na_position="last").reset_index(drop=True)
        return typed(table, ordered)

    def _column(self, table: TableName, column: str, rows: pd.DataFrame, began: pd.Timestamp | None) -> list[Any]:
        values = rows[column].tolist()
        if column in COLUMNS["dropped"]:
            return [None] * len(values)
        if column == "started":
            return [_mapped(value, lambda text: self._day(text, began)) for value in values]
        if column in COLUMNS["whole_seconds"]:
            return [None if value is None else max(1.0, float(round(value))) for value in values]
        if column in COLUMNS["tenths"]:
            return [None if value is None else round(float(value), 1) for value in values]
        if column == "dialogues" and table == "judgements":
            listed = partial(self._names.of, "dialogue")
            return [_mapped(value, lambda text: ";".join(map(listed, text.split(";")))) for value in values]
        if column in COLUMNS["public"]:
            return values
        names = map(self._row_name, rows.to_dict("records"))
        return [
            self._cell(table, column, value, name) if isinstance(value, str) else value
            for value, name in zip(values, names, strict=True)
        ]

    def _row_name(self, row: Mapping[Any, Any]) -> str:
        named = (column for column in ("judgement_id", "dialogue_id", "item_id") if isinstance(row.get(column), str))
        return next((self._names.of(COLUMNS["ids"][column], row[column]) for column in named), "")

    def _day(self, text: str, began: pd.Timestamp | None) -> str:
        """Days since the study began, as a date: no time of day, and no real day."""
        days = (pd.Timestamp(text) - (began or pd.Timestamp(text))).days
        whole = days - days % 7 if self._coarse == "week" else days
        return str((FIRST_DAY + pd.Timedelta(days=whole)).isoformat())

    def _cell(self, table: str, column: str, text: str, row: str) -> str:
        if text[:1] in "{[":
            try:
                data = json.loads(text)
            except ValueError:
                pass
            else:
                return json.dumps(self._json(data, table, column, row), ensure_ascii=False)
        return self._text(table, column, text, row)

    def _json(self, data: Any, table: str, column: str, row: str, key: str = "") -> Any:
        if isinstance(data, dict):
            return {
                (self._names.of("candidate", name) if key in _IN_JSON["candidates_as_keys"] else name): self._json(
                    item, table, column, row, name
                )
                for name, item in data.items()
                if not name.endswith("_at")
                and name not in (_IN_JSON["dropped_settings"] if column == "settings" else self._dropped)
            }
        if isinstance(data, list):
            return [self._json(item, table, column, row, key) for item in data]
        if isinstance(data, float) and key.endswith("seconds"):
            return max(1.0, float(round(data)))
        if not isinstance(data, str) or not data or key == "digest":
            return data
        kind = _IN_JSON["ids"].get(key)
        if kind == "candidate" and ("candidate", data) not in self._names.given and not _OUR_CANDIDATE.fullmatch(data):
            kind = None  # a criterion that was ticked, or a verdict
        return self._text(table, column, data, row) if kind is None else self._names.of(kind, data)

    def _text(self, table: str, column: str, text: str, row: str) -> str:
        if text not in self._cleaned:
            self._cleaned[text] = self._cleaner.clean(text)
        clean, found = self._cleaned[text]
        self.reviews += [Review(table, column, row, one) for one in found]
        return clean

    def images(self, records: Sequence[Rated]) -> list[dict[str, Any]]:
        """A row for each picture of live dialogues, under the names of the tables; its candidate is empty if the rater
        sent it."""
        rows = []
        for record in (record for record in records if isinstance(record, DialogueRecord)):
            for turn in record.turns:
                name = self._names.of("dialogue", record.dialogue_id)
                replies = ((self._names.of("candidate", one.candidate_id), one.images) for one in turn.candidates)
                rows += [
                    {
                        "dialogue_id": name,
                        "turn": turn.turn,
                        "candidate_id": sender,
                        **image.model_dump(),
                        "alt": self._text("images", "alt", image.alt, name),
                    }
                    for sender, images in [("", turn.human_images), *replies]
                    for image in images
                ]
        return sorted(rows, key=lambda row: (row["dialogue_id"], row["turn"], row["candidate_id"]))

    def counts(self) -> dict[str, int]:
        """Mark → its number of occurrences in the release."""
        return dict(sorted(Counter(review.found.mark for review in self.reviews).items()))


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    return change(value) if isinstance(value, str) and value else value
