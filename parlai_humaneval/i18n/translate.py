"""What is said to a rater, in the language of their page. The code has the English text, the key of every catalogue.

As in gettext, and as ``src/language.ts`` has it on the page: the language is in force for a thread (or task), not passed to
every place that says something.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache, reduce
from gettext import GNUTranslations, NullTranslations
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

from parlai_humaneval._util.errors import DataError, Problem

PLACE = re.compile(r"\{(\w+)\}")
"""A placeholder in a text."""


@dataclass(frozen=True)
class Language:
    """A language that raters can be spoken to in: ``tag`` as in HTML's ``lang``, ``name`` in the language itself."""

    tag: str
    name: str
    direction: Literal["ltr", "rtl"]
    words: NullTranslations


ENGLISH = Language("en", "English", "ltr", NullTranslations())

_spoken: ContextVar[Language] = ContextVar("language", default=ENGLISH)


def spoken() -> Language:
    return _spoken.get()


@contextmanager
def speaking(language: Language) -> Iterator[None]:
    """What is said within is said in this language."""
    token = _spoken.set(language)
    try:
        yield
    finally:
        _spoken.reset(token)


def t(english: str, **values: object) -> str:
    """A text in the language in force; ``{name}`` in it is replaced by the value of that name."""
    return in_places(spoken().words.gettext(english) if english else "", values)


def tn(one: str, many: str, n: int, **values: object) -> str:
    """The same for a number of things, in the plural form that the language wants; ``{n}`` is replaced by the number."""
    return in_places(spoken().words.ngettext(one, many, n), {"n": n, **values})


def joined(sentences: Iterable[str]) -> str:
    """Sentences one after another, with what the language puts between two of them."""
    return reduce(lambda first, second: t("{first} {second}", first=first, second=second), sentences, "").strip()


def in_words(seconds: float) -> str:
    """A time of this machine (since the epoch), as the language in force writes it."""
    from babel.dates import format_datetime

    return str(format_datetime(datetime.fromtimestamp(seconds), t("dd MMMM yyyy, HH:mm"), locale=spoken().tag))


def phrase(english: str) -> str:
    """Marks a text that is said later, by :func:`t`, or in a field of :data:`Words`."""
    return english


def phrases(module: str) -> dict[str, str]:
    """Longer texts that are said later: those of ``phrases.yaml`` in the folder of a module's file, or in one above."""
    return {str(name): str(text) for name, text in _nearest("phrases.yaml", Path(module).parent).items()}


def worded(module: str, why: str, /, **facts: object) -> Problem:
    """What is wrong, and what to do: as ``problems.yaml`` in the folder of a module's file, or one above, words it."""
    what, *advice = (words.format(**facts) for words in _nearest("problems.yaml", Path(module).parent)[why])
    return Problem(what, try_=tuple(advice))


@lru_cache
def _nearest(name: str, folder: Path) -> dict[str, Any]:
    from parlai_humaneval._util.data_files import read_yaml  # It loads pydantic, for which --help does not wait

    return dict(read_yaml(next(file for place in (folder, *folder.parents) if (file := place / name).is_file())))


def in_places(text: str, values: dict[str, object]) -> str:
    """A text with values in its places; a place without a value stays as it is, and values are never looked into."""
    return PLACE.sub(lambda place: str(values.get(place[1], place[0])), text)


PACKAGED = Path(str(files("parlai_humaneval") / "i18n"))
AUTO = "auto"
"""In place of a language's tag: that of the rater's browser."""

ON_PAGE = ("mephisto_tasks/webapp/", "parlai_humaneval/materials/consent.py")
"""Where the sentences stand that the page itself looks up."""


def tags(folder: Path | None = None) -> list[str]:
    found = {path.stem for place in _folders(folder) for path in place.glob("*.po")}
    return [ENGLISH.tag, *sorted(found - {ENGLISH.tag})]


def language(tag: str, folder: Path | None = None) -> Language:
    """A language with its catalogue. Raises DataError: there is no such language (the message lists those that
    there are), or a file that is malformed."""
    if tag not in tags(folder):
        raise DataError(
            f"there is no language {tag!r}",
            try_=f"choose one of: {', '.join(tags(folder))}, or {AUTO} (the browser's language). To "
            f"add it, put a file {tag}.po in the folder of languages_dir",
        )
    paths = tuple(path for place in _folders(folder) if (path := place / f"{tag}.po").is_file())
    return _read(tag, paths) if paths else ENGLISH


def page_words(tag: str, folder: Path | None = None) -> dict[str, Any]:
    """Data of a language for the rater's page, in Jed's format: English text → translation, or plural forms."""
    words: dict[str, Any] = {}
    for place in _folders(folder):
        if (path := place / f"{tag}.po").is_file():
            of_file = catalogue(path)
            words[""] = {"plural_forms": f"nplurals={of_file.num_plurals}; plural={of_file.plural_expr};"}
            # What a study translates of its own may stand anywhere.
            shown = [
                one
                for one in of_file
                if place != PACKAGED or any(place.startswith(ON_PAGE) for place, _ in one.locations)
            ]
            words |= {_key(one): _forms(one.string) for one in shown if one.id and _is_usable(one)}
    return words


def catalogue(path: Path) -> Any:
    """A PO file as Babel reads it. Raises DataError: malformed, or a translation whose places are not those of the
    English text."""
    from babel.core import UnknownLocaleError
    from babel.messages.pofile import PoFileError, read_po

    try:
        with path.open("rb") as file:
            found = read_po(file, locale=path.stem, abort_invalid=True)
    except (PoFileError, UnicodeDecodeError, UnknownLocaleError, ValueError) as error:
        raise DataError(f"cannot be read as a PO file of a language ({error})", where=path) from error
    if wrong := wrong_places(found):
        what = f"translations must have the same {{placeholders}} as the English text: {'; '.join(wrong)}"
        raise DataError(what, where=path)
    return found


def wrong_places(found: Any) -> list[str]:
    """Translations whose places are not those of the English text, each with what is wrong."""
    wrong = []
    for message in found:
        if not message.id or not _is_usable(message):
            continue
        wanted = [set(PLACE.findall(text)) for text in _forms(message.id)]
        for text in _forms(message.string):
            places = set(PLACE.findall(text))
            # A number may be in figures or, for 1, missing.
            if not (
                places <= set.union(*wanted, {"n"} if message.pluralizable else set())
                and set.intersection(*wanted) - {"n"} <= places
            ):
                wrong.append(f"“{text}” for “{_key(message)}”")
    return wrong


def _folders(folder: Path | None) -> list[Path]:
    if folder is not None and not folder.is_dir():
        raise DataError(f"there is no folder {folder}", where="languages_dir")
    return [PACKAGED] if folder is None else [PACKAGED, folder]


@lru_cache(maxsize=32)
def _read(tag: str, paths: Collection[Path]) -> Language:
    from babel import Locale
    from babel.messages.mofile import write_mo

    words = None
    for path in paths:
        compiled = BytesIO()
        write_mo(compiled, catalogue(path))
        compiled.seek(0)
        of_file = GNUTranslations(compiled)
        if words is not None:
            of_file.add_fallback(words)
        words = of_file
    assert words is not None, "a language has a file"
    locale = Locale.parse(tag, sep="-" if "-" in tag else "_")
    direction: Literal["ltr", "rtl"] = "rtl" if locale.text_direction == "rtl" else "ltr"
    return Language(tag, locale.display_name or tag, direction, words)


def _is_usable(message: Any) -> bool:
    return not message.fuzzy and all(_forms(message.string))


def _key(message: Any) -> str:
    return str(_forms(message.id)[0])


def _forms(text: Any) -> list[str]:
    return list(text) if isinstance(text, (list, tuple)) else [text]


def best(wanted: Collection[str], offered: Mapping[str, Language]) -> Language:
    """The language that somebody reads best who wants these, in order; the first that is offered where none of them is."""
    from babel import negotiate_locale

    tag = negotiate_locale([one.replace("-", "_") for one in wanted], [one.replace("-", "_") for one in offered])
    return next(iter(offered.values())) if tag is None else offered[tag.replace("_", "-")]


MOST_REMEMBERED = 10_000
"""Workers whose language is remembered; beyond this, the earliest are treated as new."""


@dataclass
class Offered:
    """The languages of a launch; the first is the default for raters who choose none. Thread-safe.

    ``chosen_by_browser``: several are offered, and each rater's browser says which of them is theirs.
    """

    languages: Mapping[str, Language] = field(default_factory=lambda: {ENGLISH.tag: ENGLISH})
    chosen_by_browser: bool = False
    folder: Path | None = None
    _of: OrderedDict[str, str] = field(default_factory=OrderedDict)
    """Worker's name → tag."""

    @property
    def main(self) -> Language:
        """For who wants no other that there is."""
        return next(iter(self.languages.values()))

    def named(self, tag: object) -> Language:
        return self.languages.get(str(tag), self.main)

    def that_began(self, tag: str) -> Language:
        """The language in which something began, maybe in a launch that offered others."""
        return self.languages[tag] if tag in self.languages else language(tag, self.folder)

    def by_browser(self, accepted: str) -> Language:
        """The language for a browser that sends these (HTTP's Accept-Language)."""
        return best(_in_order(accepted), self.languages) if self.chosen_by_browser else self.main

    def note(self, worker: str, tag: object) -> None:
        """The page of this worker speaks so."""
        if self.chosen_by_browser:
            self._of[worker] = self.named(tag).tag
            while len(self._of) > MOST_REMEMBERED:
                self._of.popitem(last=False)

    def of(self, worker: str) -> Language:
        return self.named(self._of.get(worker))

    def for_page(self) -> dict[str, dict[str, object]]:
        """Data for every page: the available languages, and the texts that the page looks up in each."""
        return {
            tag: {"direction": one.direction, "catalogue": page_words(tag, self.folder)}
            for tag, one in self.languages.items()
        }


def offered(setting: str, folder: Path | None = None) -> Offered:
    """The languages of a setting: one, or with ``auto`` all that there are. Raises DataError: there is no such
    language, or a catalogue cannot be used."""
    wanted = tags(folder) if setting == AUTO else [setting]
    return Offered({tag: language(tag, folder) for tag in wanted}, setting == AUTO, folder)


def _in_order(accepted: str) -> list[str]:
    """“zh-CN,en;q=0.5” → the tags, most wanted first."""
    wanted = []
    for part in accepted.split(",")[:20]:
        tag, _, quality = part.strip().partition(";q=")
        try:
            wanted.append((-float(quality or 1), tag))
        except ValueError:
            continue
    return [tag for _, tag in sorted(wanted, key=lambda one: one[0]) if tag]
