"""What of a reply is its speaker's own turn: no marks of a model's format, no labels of speakers, no turns of others.

A model that goes on after its reply writes the next turns of the transcript, too: “I like tea.\\nUser: Me too.”. It is cut
off where another turn begins. In the middle of a line a label is an ordinary word, and stays.
"""

from __future__ import annotations

import re
from functools import lru_cache

from parlai_humaneval.showing.vocabulary import Vocabulary

_ROLE = r"(?:system|user|human|assistant|model|bot|chatbot|gpt|ai|tool)"
_HEADER = re.compile(
    rf"(?:<\|(?:im_start|start_header_id)\|>|<start_of_turn>)\s*{_ROLE}\b[ \t]*(?:<\|end_header_id\|>)?\s*"
    rf"|<\|{_ROLE}\|>\s*|\[INST\]\s*|<<SYS>>\s*",
    re.IGNORECASE,
)
"""Where a turn begins, by the formats of chat models."""
_ASKED = re.compile(r"\s*(?:<s>)?\s*\[INST\].*?\[/INST\]\s*", re.IGNORECASE | re.DOTALL)
_THOUGHTS = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.IGNORECASE | re.DOTALL)
_TOKENS = re.compile(
    r"<\|[\w ]{1,40}\|>|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>|<(?:eos|bos|pad|unk)>"
    r"|__(?:start|end|unk|null|silence)__",
    re.IGNORECASE,
)
_SENTENCE_TOKENS = re.compile(r"</?s>", re.IGNORECASE)
_GAP = re.compile(r"[ \t]{2,}")


def without_model_tokens(text: str, *, all_of_them: bool = False) -> str:
    """No ``<|im_end|>``, ``__end__`` and the like, nothing before the reply, and no turn after it.

    Args:
        text: what a model said.
        all_of_them: whether thoughts between ``<think>`` tags go as well, and every ``<s>``, though it be HTML.
    """
    if not ("<" in text or "[" in text or "__" in text):
        return text
    reply = _THOUGHTS.sub("", text) if all_of_them else text
    reply = _ASKED.sub("", reply, count=1) if _ASKED.match(reply) else reply
    start = 0
    for header in _HEADER.finditer(reply):
        if _TOKENS.sub("", reply[start : header.start()]).strip(" \t\n") not in ("", "<s>"):
            reply = reply[: header.start()].rstrip()
            break
        start = header.end()
    reply = _TOKENS.sub(" ", reply[start:]) if _TOKENS.search(reply, start) else reply[start:]
    if "<s>" in reply or "</s>" in reply:
        reply = _without_sentence_tokens(reply, all_of_them)
    return text if reply == text else _GAP.sub(" ", reply).strip()


def _without_sentence_tokens(text: str, all_of_them: bool) -> str:
    """``<s>`` and ``</s>`` are HTML, too: a pair around words in the middle of a text stays."""
    if all_of_them:
        return _SENTENCE_TOKENS.sub(" ", text)
    text = text.strip()
    while text.endswith("</s>") and "<s>" not in text[3:]:
        text = text[: -len("</s>")].rstrip()
    while text.startswith("<s>") and "</s>" not in text:
        text = text[len("<s>") :].lstrip()
    return text


def without_labels(text: str, vocabulary: Vocabulary) -> str:
    """No “Assistant:” before the reply, and nothing from a line on that begins with “User:”."""
    if ":" not in text and "：" not in text:
        return text
    leading, next_turn = _labels(vocabulary)
    label = leading.match(text)
    reply = text[label.end() :] if label else text
    following = next_turn.search(reply)
    if following and reply[: following.start()].strip():
        reply = reply[: following.start()].rstrip()
    return reply


@lru_cache(maxsize=64)
def _labels(vocabulary: Vocabulary) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What stands before a reply, and before a further turn."""
    languages = vocabulary.words.languages.values()
    person = [label for language in languages for label in language.human_labels]
    anybody = person + [label for language in languages for label in language.labels]
    return (
        re.compile(rf"\s*{_label(anybody)}[ \t]*\n?", re.IGNORECASE),
        re.compile(rf"\n[ \t]*{_label([*person, *map(str.upper, person)])}"),
    )


def _label(labels: list[str]) -> str:
    """One of ``labels`` as it stands in transcripts: “User:”, “### User:”, “**User:**”, “User 1:”."""
    longest_first = "|".join(map(re.escape, sorted(set(labels), key=lambda label: (-len(label), label))))
    return rf"(?:\#{{1,4}}[ ]?|\*\*)?(?:{longest_first})(?:[ ]?\d)?(?:\*\*)?[ ]?[:：](?!//)(?:\*\*)?"
