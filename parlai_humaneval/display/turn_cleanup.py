"""What of a reply is its speaker's own turn: no marks of a model's format, no labels of speakers, no turns of others.

A model that goes on after its reply writes the next turns of the transcript, too: “I like tea.\\nUser: Me too.”. It is cut
off where another turn begins. In the middle of a line a label is an ordinary word, and stays; so does a mark in code.
"""

from __future__ import annotations

import re
from functools import lru_cache

from parlai_humaneval.display.thoughts import Code
from parlai_humaneval.display.vocabulary import Vocabulary

_ROLE = r"(?:system|user|human|assistant|model|bot|chatbot|gpt|ai|tool)"
_HEADER = re.compile(
    rf"(?:<\|(?:im_start|start_header_id|start_of_role|start)\|>|<start_of_turn>|<\|turn>)\s*{_ROLE}\b[ \t]*"
    r"(?:<\|(?:end_header_id|end_of_role|message)\|>)?\s*"
    rf"|(?:<\|START_OF_TURN_TOKEN\|>)?<[|｜]{_ROLE}(?:_TOKEN)?[|｜]>\s*|\[\|{_ROLE}\|\]\s*|\[INST\]\s*|<<SYS>>\s*",
    re.IGNORECASE,
)
"""Where a turn begins, by the formats of chat models."""
_ASKED = re.compile(r"\s*(?:<s>)?\s*\[INST\].*?\[/INST\]\s*", re.IGNORECASE | re.DOTALL)
_MEANT = r"(?![ ][a-z]|[\"”’'.,;)])"
"""Not spoken of in a sentence."""
_CALLS = re.compile(
    rf"<(?P<call>(?:\w{{1,12}}:)?tool_calls?|function_calls?|tool_response|tool_result)>{_MEANT}.*?(?:</(?P=call)>|\Z)"
    r"|<function=[^<>\n]*>.*?(?:</function>|\Z)"
    r"|<(?P<bar>[|｜])(?P<kind>tool[_▁]calls?(?:_section)?)[_▁]begin(?P=bar)>.*?(?:<(?P=bar)(?P=kind)[_▁]end(?P=bar)>|\Z)"
    r"|<\|START_ACTION\|>.*?(?:<\|END_ACTION\|>|\Z)|<\|tool_call>.*?(?:<tool_call\|>|\Z)"
    rf"|(?:\[TOOL_CALLS\]|<\|python_tag\|>){_MEANT}.*",
    re.IGNORECASE | re.DOTALL,
)
"""What a model says to a program, and what that said to it."""
_TOKENS = re.compile(
    r"(?:[ \t]*(?:<[|｜](?! )[\w ▁/.:=-]{1,40}(?<! )[|｜]>|\[\|(?:endofturn|system|user|assistant|tool)\|\]"
    r"|<\|(?:turn|channel|tool|tool_response)>"
    r"|<(?:turn|channel|tool|tool_response)\|>|\[/?(?:INST|SYSTEM_PROMPT|gMASK)\]|<</?SYS>>"
    r"|\[(?:BEGIN|END) FINAL RESPONSE\]|<(?:start|end)_of_(?:turn|utterance)>"
    r"|<(?:eos|bos|pad|unk|sop|eop|eod|eoh|eoa|eot|eom)>|<(?:unused|extra_id_)\d{1,3}>"
    r"|__(?:start|end|unk|null|silence|(?:end)?knowledge|(?:end)?memory|(?:end)?entity|(?:end-)?style)__))+[ \t]*",
    re.IGNORECASE,
)
_UNSAFE = re.compile(r"\s*_{1,2}(?:POTENTIALLY_UNSAFE|PAUSE)__")
"""What BlenderBot 2 says after a reply that its own classifier does not trust, and in place of a pause."""
_WRAPPER = re.compile(
    r"\A\s*<(?P<tag>answer|response|reply|final|final_(?:answer|response)|output|solution)>(?P<reply>.*)</(?P=tag)>(?P<rest>.*)\Z"
    r"|\A\s*<(?:answer|response|reply|final_(?:answer|response))>(?P<cut>(?=\n|\S).*)\Z"
    r"|\A(?P<begun>.*\S)(?<!\w )</(?:answer|response|reply|final_(?:answer|response))>\s*\Z",
    re.IGNORECASE | re.DOTALL,
)
"""What some models put around their reply; the end may have been cut off, or the template had written the beginning."""
_SPOKEN_OF = re.compile(r"\W*(?:and|or|to)?\W*")
_SENTENCE_TOKENS = re.compile(r"[ \t]*</?s>[ \t]*", re.IGNORECASE)


def without_model_tokens(text: str, *, all_of_them: bool = False) -> str:
    """No ``<|im_end|>``, ``__end__`` and the like, nothing before the reply, and no turn after it.

    Args:
        text: what a model said, without its thoughts.
        all_of_them: whether every ``<s>`` goes, though it be HTML.
    """
    if not ("<" in text or "[" in text or "__" in text):
        return text
    reply = _outside_code(_CALLS, text, "")
    reply = _ASKED.sub("", reply, count=1) if _ASKED.match(reply) else reply
    start, code = 0, Code(reply)
    for header in _HEADER.finditer(reply):
        if code.holds(header.start()):
            continue
        if _TOKENS.sub("", reply[start : header.start()]).strip(" \t\n") not in ("", "<s>"):
            reply = reply[: header.start()].rstrip()
            break
        start = header.end()
    reply = _outside_code(_TOKENS, reply[start:], " ")
    if "<s>" in reply or "</s>" in reply:
        reply = _without_sentence_tokens(reply, all_of_them)
    reply = _without_answer_tag(reply)
    return text if reply == text else reply.strip()


def without_unsafe_mark(text: str) -> str:
    """No ``_POTENTIALLY_UNSAFE__`` or ``_PAUSE__``."""
    return _UNSAFE.sub("", text).strip() if "__" in text and _UNSAFE.search(text) else text


def _outside_code(pattern: re.Pattern[str], text: str, put: str) -> str:
    code = Code(text)
    return pattern.sub(lambda match: match.group() if code.holds(match.start()) else put, text)


def _without_answer_tag(text: str) -> str:
    wrapped = _WRAPPER.match(text) if "<" in text else None
    if wrapped is None:
        return text
    if wrapped["tag"] is not None:
        return text if _SPOKEN_OF.fullmatch(wrapped["reply"]) else wrapped["reply"] + wrapped["rest"]
    inner: str = wrapped["cut"] if wrapped["begun"] is None else wrapped["begun"]
    return text if Code(text).holds(len(text.rstrip()) - 1) or "<answer>" in inner else inner


def _without_sentence_tokens(text: str, all_of_them: bool) -> str:
    """``<s>`` and ``</s>`` are HTML, too: a pair around words in the middle of a text stays."""
    if all_of_them:
        return _outside_code(_SENTENCE_TOKENS, text, " ")
    text = text.strip()
    while text.endswith("</s>") and "<s>" not in text[3:]:
        text = text[: -len("</s>")].rstrip()
    while text.startswith("<s>") and "</s>" not in text:
        text = text[len("<s>") :].lstrip()
    return text


def without_labels(text: str, vocabulary: Vocabulary) -> str:
    """No “Assistant:” before the reply, and nothing from a line on that begins with “User:”.

    Where the person's last words are said once more, the reply is what follows “Assistant:” after them.
    """
    if ":" not in text and "：" not in text:
        return text
    leading, echo, next_turn = _speaker_labels(vocabulary)
    label = echo.match(text) or leading.match(text)
    reply = text[label.end() :] if label else text
    following = next_turn.search(reply)
    if following and reply[: following.start()].strip():
        reply = reply[: following.start()].rstrip()
    return reply


@lru_cache(maxsize=64)
def _speaker_labels(vocabulary: Vocabulary) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    languages = vocabulary.words.languages.values()
    person = [label for language in languages for label in language.human_labels]
    program = [label for language in languages for label in language.labels]
    return (
        re.compile(rf"\s*{_label(person + program)}[ \t]*\n?", re.IGNORECASE),
        re.compile(
            rf"\s*{_label(person)}[^\n]*\n(?:[^\n]*\n){{0,5}}?[ \t]*{_label(program)}[ \t]*\n?(?=\s*\S)", re.IGNORECASE
        ),
        re.compile(rf"\n[ \t]*{_label([*person, *map(str.upper, person)])}"),
    )


def _label(labels: list[str]) -> str:
    """One of ``labels`` as it stands in transcripts: “User:”, “### User:”, “**User:**”, “User 1:”."""
    longest_first = "|".join(map(re.escape, sorted(set(labels), key=lambda label: (-len(label), label))))
    return rf"(?:\#{{1,4}}[ ]?|\*\*)?(?:{longest_first})(?:[ ]?\d)?(?:\*\*)?[ ]?[:：](?!//)(?:\*\*)?"
