"""How many words a rater reads before the first answer, as the page really stands."""

from __future__ import annotations

import json
import re
import urllib.request
from dataclasses import dataclass

from parlai_humaneval.materials.instructions import PracticeItem, RateItem

from .rater import Rater

MOST_WORDS = 180
"""What one reads in 45 seconds, at 240 words a minute."""
_KEYS = re.compile(r"(Press|Keys:) \d[^.]*to continue\.")
_ON_PAGE = """
() => {
  // Neither what unfolds, nor what is there for a screen reader only, one pixel wide, nor the message that is quoted again.
  const seen = (node) => {
    for (let at = node.parentElement; at !== null; at = at.parentElement) {
      if (at.offsetWidth === 1 || at.matches("[data-pinned]")) { return false; }
    }
    return node.parentElement.checkVisibility({ visibilityProperty: true });
  };
  const wordsOf = (parts) => [...parts].flatMap((part) => {
    const walk = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walk.nextNode()) {
      if (seen(walk.currentNode)) { texts.push(walk.currentNode.data); }
    }
    return texts;
  }).join(" ");
  const all = (selector) => [...document.querySelectorAll(selector)];
  return [all("main"), all("[data-testid=panel], [role=log]"), all("[data-scale]").slice(1)].map(wordsOf);
}
"""


@dataclass(frozen=True)
class Reading:
    """Words between the start screen's first and the practice's first answer."""

    ours: int
    """All but the two below."""
    of_chats: int
    """What was said before in the chat that is judged."""
    of_later_scales: int
    """All scales but the first, which is the first to be answered."""


def count_words(text: str) -> int:
    """Runs between white space that hold a letter: a button with a number on it needs no reading."""
    return sum(1 for run in text.split() if re.search(r"[^\W\d_]", run))


def before_first_answer(rater: Rater) -> Reading:
    """Of the start screen down to its button, and of the first practice item (its messages, replies and question), with all
    sentences of the guide. Which keys one may press needs no reading."""
    with urllib.request.urlopen(f"{rater.url}task_config.json", timeout=10) as answer:
        config = json.load(answer)
    start = [config[key] for key in ("title", "tagline", "pay", "consent", "start_label")]
    minutes = f"About {config['minutes']} minutes"
    shown, chats, later_scales = rater.screen.evaluate(_ON_PAGE)
    to_come = [line["text"] for line in config["guide"]["practice"] if line["at"] == "send"]
    words = count_words(" ".join([*start, minutes, _KEYS.sub("", shown), *to_come]))
    of_chats, of_later_scales = count_words(chats), count_words(later_scales)
    return Reading(words - of_chats - of_later_scales, of_chats, of_later_scales)


def check_reading(rater: Rater, item: PracticeItem) -> None:
    """At the first item of the practice, of any technique: the first answer is 45 seconds away.

    Chats that have to be read to be judged come on top, as long as they are; of a live chat what was said counts, too.
    """
    found = before_first_answer(rater)
    live = rater.page.get_by_test_id("panel").count() == 0 and not isinstance(item, RateItem)
    words = found.ours + (found.of_chats if live else 0)
    print(f"reading: {type(item).__name__}: {words} of at most {MOST_WORDS} words; {found}")
    assert words <= MOST_WORDS
