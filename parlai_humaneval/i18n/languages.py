"""In which languages one study speaks, and in which of them to whom."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from parlai_humaneval.i18n.catalogs import AUTO, best, language, page_words, tags
from parlai_humaneval.i18n.translate import ENGLISH, Language

MOST_REMEMBERED = 10_000
"""Workers whose language is known; of more, those who came first are spoken to as if they came anew."""


@dataclass
class Offered:
    """The languages of a launch, the one for who wants none of them first. Thread-safe.

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
        """What every page is told of the languages: which there are, and what it looks up in each."""
        return {
            tag: {"direction": one.direction, "catalogue": page_words(tag, self.folder)}
            for tag, one in self.languages.items()
        }


def offered(setting: str, folder: Path | None = None) -> Offered:
    """The languages of a setting: one, or with ``auto`` all that there are.

    Raises:
        CatalogueError: there is no such language, or a catalogue cannot be used.
    """
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
