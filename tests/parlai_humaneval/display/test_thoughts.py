"""No rater sees what a model thought, or a mark of its format; what only speaks of such marks stays letter for letter."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parlai_humaneval.display.appearance import Appearance, looked_over
from parlai_humaneval.display.presenter import AS_SAID, Presenter
from parlai_humaneval.display.text import ONLY_THOUGHTS, begins_thoughts, is_mark, only_thoughts, parted

LOOKS: tuple[Appearance, ...] = ("as_said", "markdown", "plain")
CASES = Path(__file__).parents[4] / "shared/cases/H_thoughts_and_marks/replies.jsonl"
REPLY, PLAN = "See you!", "The user leaves. Let me say `bye`, or\n\n```py\nsee_you()\n```\nUser: a short one."

PAIRS = [
    *((f"<{name}>", f"</{name}>") for name in ("think", "thinking", "THINK", "mm:think", "seed:think")),
    *(
        (f"<{name}>", f"</{name}>")
        for name in ("reasoning", "thought", "thoughts", "scratchpad", "reflection", "reason")
    ),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|think|>", "<|/think|>"),
    ("<|channel>thought\n", "<channel|>"),
    ("<unused94>thought\n", "<unused95>"),
    ("<think>", "</thinking>"),
]
HARMONY = "<|channel|>analysis<|message|>{}<|end|><|start|>assistant<|channel|>final<|message|>{}"


def shown(said: str) -> str:
    """The reply as raters see it, the same whatever the looks."""
    texts = {looked_over(said, appearance=look)[0].strip() for look in LOOKS}
    assert len(texts) == 1, texts
    return texts.pop()


@pytest.mark.skipif(not CASES.exists(), reason="the collected cases are not on this machine")
def test_the_collected_cases() -> None:
    """What people reported of real models."""
    cases = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    assert [case["shown"] for case in cases] == [shown(case["said"]) for case in cases]


@pytest.mark.parametrize("after", ["", "\n\n", " "])
@pytest.mark.parametrize(("begin", "end"), PAIRS)
def test_thoughts_of_every_format_go_and_are_told_apart(begin: str, end: str, after: str) -> None:
    """Guards raters, for whom a plan tells what speaks; also one that holds code, an empty line and a label."""
    for lead in ("", "\n", "<|im_start|>assistant\n"):
        said = f"{lead}{begin}{PLAN}{end}{after}{REPLY}"
        assert shown(said) == REPLY
        assert [thought.removeprefix("thought").strip() for thought in parted(said).thoughts] == [PLAN]


@pytest.mark.parametrize(("begin", "end"), [pair for pair in PAIRS if pair[0] not in ("<think>",)] + PAIRS[:1])
def test_thoughts_that_the_template_began_have_no_beginning(begin: str, end: str) -> None:
    """Guards against templates that write the first mark themselves, as DeepSeek's, MiniMax's and Qwen's do."""
    assert shown(f"Hm, a goodbye.\n{end}\n\n{REPLY}") == REPLY
    assert begins_thoughts(f"<|im_start|>assistant\n{begin}\n") == begin.strip()
    assert begins_thoughts(f"<|im_start|>assistant\n{begin}\n\n{end}\n\n") == ""


@pytest.mark.parametrize(
    "said",
    [
        HARMONY.format(PLAN, REPLY) + "<|return|>",
        "<|start|>assistant" + HARMONY.format("A plan.", REPLY),
        HARMONY.format("A plan.", REPLY) + "<|end|><|start|>user<|message|>Bye<|end|>" + HARMONY.format("Hm.", "No."),
        "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>"
        + HARMONY.format("A plan.", REPLY),
        "<|channel|>final<|message|>" + REPLY,
        "A plan.<|end|><|start|>assistant<|channel|>final<|message|>" + REPLY,
        REPLY + "<|end|><|start|>assistant<|channel|>analysis<|message|>And now",
        "analysisThe user leaves. Say “bye”.assistantfinal" + REPLY,
        "analysisUse it.assistantcommentary to=functions.f json{}assistantanalysisGood.assistantfinal" + REPLY,
        "Here is my thought process:\nA plan.\n\nHere is my response:\n" + REPLY,
        "assistantfinal" + REPLY,
        "<think>A</think><think>B</think>" + REPLY,
        f"<think>A</think>{REPLY} <think>B</think>",
        "<think>How about </think> as a word?\n</think>\n" + REPLY,
        f"<think>Plan.</think><answer>{REPLY}</answer><|im_end|>",
        f"<answer>\n{REPLY}\n</answer>",
        f"<response>{REPLY}</response>",
        "<answer>" + REPLY,
        REPLY + "</answer>",
        f"<|START_THINKING|>A<|END_THINKING|><|START_RESPONSE|>{REPLY}<|END_RESPONSE|>",
        f"<|begin_of_thought|>A<|end_of_thought|>\n<|begin_of_solution|>{REPLY}<|end_of_solution|>",
        f"A plan.\n[BEGIN FINAL RESPONSE]\n{REPLY}\n[END FINAL RESPONSE]",
        REPLY + '<tool_call>{"name": "wave"}</tool_call>',
        REPLY + '\n<tool_call>{"name": "wa',
        REPLY + '[TOOL_CALLS][{"name": "wave"}]',
        REPLY + "<function=wave>{}</function>",
        REPLY + "<｜tool▁calls▁begin｜>wave<｜tool▁calls▁end｜>",
        *(
            REPLY + mark
            for mark in ("<|im_end|>", "<|eot_id|>", "</s>", "<end_of_turn>", "<|end|>", "<|endoftext|>", "<eos>")
        ),
        *(
            REPLY + mark
            for mark in ("<｜end▁of▁sentence｜>", "<turn|>", "[|endofturn|]", "<|return|>", "<end_of_utterance>")
        ),
        *(REPLY + mark for mark in (" _POTENTIALLY_UNSAFE__", " _PAUSE__", " __end__", "<|user|>Bye", "<｜User｜>Bye")),
        "[gMASK]<sop>" + REPLY,
        "User: hi\nAssistant: " + REPLY,
    ],
)
def test_marks_of_every_format_go(said: str) -> None:
    assert shown(said) == REPLY


@pytest.mark.parametrize(
    "said",
    [
        *(begin + PLAN for begin, _ in PAIRS),
        *(begin + PLAN + end for begin, end in PAIRS),
        "Okay, so the user leaves.\n</think>\n",
        "<|channel|>analysis<|message|>The user lea",
        "<|channel|>analysis<|message|>A.<|end|><|start|>assistant<|channel|>",
        "analysisThe user leaves. We sho",
        "analysisPlan: gre",
        "<think>Hm.</think><|im_end|>",
    ],
)
def test_thoughts_alone_are_no_reply_and_the_remedy_is_named(said: str) -> None:
    """Guards raters against half a plan, and researchers against guessing why their model is silent."""
    for look in LOOKS:
        assert Presenter(appearance=look).refuse(said) == ONLY_THOUGHTS
    for option in ("max_tokens", "max_new_tokens", "reasoning off"):
        assert option in ONLY_THOUGHTS


def test_the_record_keeps_what_was_said_and_what_was_done() -> None:
    """Guards research on what models think, and on replies that BlenderBot 2 itself did not trust."""
    presented = AS_SAID.present(f"<think>A plan.</think>{REPLY} _POTENTIALLY_UNSAFE__<|im_end|>", ())
    assert (presented.text, presented.changes) == (REPLY, ["thoughts", "unsafe_mark", "model_tokens"])
    assert only_thoughts("_PAUSE__") is None
    assert only_thoughts("<think>A") == ONLY_THOUGHTS


PLAIN = [
    "Use the `<think>` tag, and end it with `</think>`.",
    "```xml\n<think>\nA plan.\n</think>\n<answer>Yes</answer>\n```\nThat is the format.",
    "```\n<|im_start|>user\nHi<|im_end|>\n    indented\n```\nSo ends a turn: `<|im_end|>` or `</s>`.",
    "~~~\n[THINK]x[/THINK]\n~~~",
    "Qwen puts its plan between <think> and </think>.",
    "The <think> tag begins it, the </think> tag ends it.",
    "Put it in <think>your plan</think> tags.",
    "<think> and </think> are tags.",
    "<think> is a tag that Qwen writes.",
    "You close it with </think>.",
    "“<think>” begins a plan, and “</think>” ends it.",
    "I like <thought>this</thought> better than <reasoning>that</reasoning>.",
    "Write <answer> before your reply, and </answer> after it.",
    "<answer> is a tag.",
    "The last tag is </answer>",
    "analysis of the data: it is final, says my assistant",
    "analysis of “assistantfinal”: a word of gpt-oss",
    "analysis is fun. The assistant's final word: yes.",
    "analysisResult is a variable, and finalScore another.",
    "Analysis first, then the assistant final.",
    "final answer: 42",
    "thinking of you",
    "Reasoning: it rains. So take an umbrella.",
    "Thought: a penny for it",
    "Here is my thought process: I was tired, and slept.",
    "I think <so>, a <b or b> a, x < think > y",
    "if a[THINK] is set",
    "use <s>old</s> new, <b>bold</b>, the </s>trike",
    "a <| b |> c |> d, x || y, [|x|] is the norm",
    "the methods __init__ and __call__, snake__case, and _PAUSE_ or __PAUSE",
    "I wrote `<tool_call>` in the parser",
    "A call is between <tool_call> and </tool_call>, or after “[TOOL_CALLS]”.",
    "1 < 2 > 0, List<String>, <3, </3",
    "A line.\n    Indented  with  gaps.",
]


@pytest.mark.parametrize("text", PLAIN)
@pytest.mark.parametrize("look", ["as_said", "markdown"])
def test_what_speaks_of_marks_stays(text: str, look: Appearance) -> None:
    """Guards replies against holes: people ask programs about programs."""
    assert looked_over(text, appearance=look) == (text, [])
    assert Presenter(appearance=look).refuse(text) is None


def test_channels_that_are_spoken_of_are_none() -> None:
    """Guards a reply about gpt-oss against being taken for a plan that was cut."""
    text = "It writes <|channel|>analysis<|message|> before its plan."
    assert parted(text).reply == text
    assert AS_SAID.refuse(text) is None


WORDS = st.text(alphabet=st.characters(exclude_characters="<>[]◁▷|｜_:：`~", exclude_categories=("C", "Zl", "Zp")))


@given(WORDS)
def test_text_without_signs_of_marks_is_never_touched(text: str) -> None:
    """Guards nearly all replies."""
    assert parted(text).reply == text
    assert looked_over(text) == looked_over(text.strip("\x00"))
    assert not {"thoughts", "model_tokens", "unsafe_mark"} & set(looked_over(text)[1])


@given(
    st.lists(
        st.sampled_from([*'ab <>/`\n"“”.,[]|~_:', "<b>", "</b>", "<s>", "</s>", "think", "answer", "```"]), max_size=30
    )
)
def test_text_without_a_known_tag_keeps_every_letter(parts: list[str]) -> None:
    """Guards code, mathematics and HTML, in any order of signs: what is no mark is no thought."""
    text = "".join(parts)
    if not any(mark in text for mark in ("think>", "answer>")):
        assert parted(text).reply == text


@given(st.text(max_size=40), st.text(alphabet="ab.\n", min_size=1).filter(str.strip), st.sampled_from(PAIRS[:5]))
def test_whatever_stands_in_thoughts_none_of_it_is_shown(plan: str, reply: str, pair: tuple[str, str]) -> None:
    """Guards against a plan that breaks out of its marks: only what follows the last mark is the reply."""
    begin, end = pair
    both = parted(f"{begin}{plan}{end}\n{reply}")
    assert both.reply.strip() == reply.strip()
    assert not both.is_open


@given(st.text(alphabet="ab` \n", max_size=30), st.sampled_from(PLAIN[:4]))
def test_code_in_a_reply_after_thoughts_stays(plan: str, text: str) -> None:
    """Guards code against backticks of the plan, which are not closed there."""
    assert parted(f"<think>{plan}</think>\n{text}").reply == f"\n{text}"


@pytest.mark.parametrize(
    "text",
    [
        "<think>",
        "the <think> tag ",
        "</think>",
        "` ",
        "`` ` ",
        "```\n",
        "<think>a</think>",
        "[`<",
        "<answer>",
        "<|x",
        "\n",
    ],
)
def test_no_text_takes_seconds(text: str) -> None:
    """Guards the reply path against a model that repeats itself."""
    started = time.perf_counter()
    looked_over(text * 5000 + "<think>")
    assert time.perf_counter() - started < 3


def test_tokens_that_mark_thoughts_are_known() -> None:
    """Guards models whose tokenizer calls these marks special: they end no reply."""
    assert all(
        map(is_mark, ("<think>", "</think>", "[THINK]", "[/THINK]", "<|channel|>", "<|message|>", "<|START_THINKING|>"))
    )
    assert not any(map(is_mark, ("<|im_end|>", "</s>", "<|eot_id|>", "<|end|>", "<pad>", "think")))
