"""What models think before they reply: kept in the record, and said to nobody, whoever told it apart."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from chat_pool import MakePool, say
from faulty_server import FaultyServer, answers, completion, piece, streams
from own_models import own, written
from tiny_hugging_face import CHAT_TEMPLATE, agent_of, tokenizer_of

from parlai_humaneval.display.text import ONLY_THOUGHTS
from parlai_humaneval.models.backends.base import INFO_FIELD
from parlai_humaneval.models.backends.chat_server import read_stream, read_whole
from parlai_humaneval.models.backends.prompting import ChatFormat, Prompt
from parlai_humaneval.models.bot_speaker.bot_speaker import BotSpeakerAgent
from parlai_humaneval.models.model_pool import ModelFailed, ModelPool
from parlai_humaneval.models.pool.loading import load_agent
from parlai_humaneval.schema.records import Candidate
from parlai_humaneval.tables.build_dialogues import shown_columns

INLINE = "<think>A plan.</think>Bye."
MORE_TOKENS = "it ran out of tokens before any text of its reply; raise max_tokens"
WHOLE = Prompt()
"""Nothing was left out of it."""


def message(finish_reason: str = "stop", **fields: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **fields}, "finish_reason": finish_reason}
    return completion(choices=[choice])


APART = [
    {"content": "Bye.", "reasoning_content": "A plan."},
    {"content": "Bye.", "reasoning": "A plan.", "reasoning_details": [{"text": "A plan."}]},
    {"content": "Bye.", "reasoning_content": None, "reasoning": "A plan."},
    {
        "content": [
            {"type": "thinking", "thinking": [{"type": "text", "text": "A plan."}]},
            {"type": "text", "text": "Bye."},
        ]
    },
    {"content": [{"type": "thinking", "thinking": "A plan."}, {"type": "text", "text": "Bye."}]},
]


@pytest.mark.parametrize("fields", APART)
def test_what_a_server_calls_reasoning_is_believed(fields: dict[str, Any]) -> None:
    """Guards against patterns where the server knows: vLLM, DeepSeek, llama.cpp, OpenRouter, Ollama, Mistral."""
    reply = read_whole(json.dumps(message(**fields)).encode())
    assert (reply.text, reply.thoughts) == ("Bye.", "A plan.")
    pieces = [piece(choices=[{"index": 0, "delta": {key: value}}]) for key, value in fields.items()]
    streamed = read_stream([*pieces, piece(None, "stop")])
    assert (streamed.text, streamed.thoughts) == ("Bye.", "A plan.")


@pytest.mark.parametrize("stream", [False, True])
def test_thoughts_of_a_server_are_recorded_and_no_model_hears_them(
    server: FaultyServer, chat: MakePool, stream: bool
) -> None:
    """Guards raters, the record and the next request, for thoughts told apart and for those within the text."""
    apart = {"content": "Bye.", "reasoning_content": "A plan."}
    pieces = [piece(choices=[{"index": 0, "delta": {key: value}}]) for key, value in apart.items()]
    server.plan.append(streams(*pieces, piece(None, "stop")) if stream else answers(message(**apart)))
    cut = [piece(part) for part in (INLINE[:4], INLINE[4:20], INLINE[20:])]
    server.plan.append(streams(*cut, piece(None, "stop")) if stream else answers(message(content=INLINE)))
    server.otherwise = streams(piece("Yes.", "stop")) if stream else answers()
    speaker = chat(stream=stream).speaker(["m"])
    first, second = say(speaker), say(speaker, "And?")
    assert (first["text"], first["raw_text"], first["info"]["thoughts"]) == ("Bye.", None, "A plan.")
    assert (second["text"], second["raw_text"], second["changes"]) == ("Bye.", INLINE, ["thoughts"])
    for candidate in (first, second):
        assert shown_columns(Candidate.model_validate(candidate))["thoughts"] == "A plan."
    say(speaker, "Well.")
    assert "plan" not in json.dumps(server.requests[-1])


CUT = [
    {"content": None, "reasoning_content": "The user lea"},
    {"content": "", "reasoning": "The user lea"},
    {"content": "<think>The user lea"},
    {"content": "<|channel|>analysis<|message|>The user lea"},
]


@pytest.mark.parametrize("fields", CUT)
def test_a_reply_cut_within_thoughts_is_none_and_the_remedy_is_named(
    server: FaultyServer, chat: MakePool, caplog: pytest.LogCaptureFixture, fields: dict[str, Any]
) -> None:
    """Guards raters against half a plan, and says which option gives the model room; it is asked again as for a blank."""
    server.otherwise = answers(message("length", **fields))
    with caplog.at_level(logging.ERROR, "parlai_humaneval"), pytest.raises(ModelFailed, match=MORE_TOKENS):
        say(chat().speaker(["m"]))
    assert len(server.requests) == 2
    assert any(ONLY_THOUGHTS in record.getMessage() for record in caplog.records)


def test_beside_others_it_is_left_out_and_the_record_says_why(scripted_pool: Any) -> None:
    """Guards a comparison of several models, one of which only thinks."""
    pool = scripted_pool({"thinker": lambda _: "<think>Hm", "b": str.upper, "c": str.lower}, retries=0)
    speaker = pool.speaker(["thinker", "b", "c"], seed=0)
    speaker.observe({"text": "Hi", "episode_done": False})
    said = {candidate["model"]: candidate for candidate in speaker.act()["candidates"]}
    assert (said["thinker"]["failed"], said["thinker"]["blocked"]) == (True, ONLY_THOUGHTS)
    assert said["thinker"]["raw_text"] == "<think>Hm"


def test_a_server_whose_template_begins_the_thoughts_is_known_once_they_have_ended(
    server: FaultyServer, chat: MakePool
) -> None:
    """Guards against half a plan with no mark in it, of servers that do not tell thoughts apart."""
    whole, cut = message(content="Hm, a goodbye.\n</think>\n\nBye."), message("length", content="Okay, the user")
    server.plan.extend([answers(whole), answers(cut), answers(cut)])
    speaker = chat().speaker(["m"])
    assert say(speaker)["text"] == "Bye."
    with pytest.raises(ModelFailed, match=MORE_TOKENS):
        say(speaker, "And?")


@pytest.mark.parametrize("strip", [True, False])
def test_in_parlai_alone_an_option_says_whether_thoughts_are_shown(
    server: FaultyServer, chat: MakePool, strip: bool
) -> None:
    """Guards `parlai interactive` and `eval_model`; raters see none in either case."""
    server.otherwise = answers(message(content=INLINE))
    pool = chat(strip_thinking=strip)
    agent = pool.worker("m").clone()
    agent.observe({"text": "Hi!", "episode_done": False})
    assert agent.act()["text"] == ("Bye." if strip else INLINE)
    assert say(pool.speaker(["m"]))["text"] == "Bye."


def test_a_function_may_think_too(tmp_path: Path) -> None:
    """Guards bots of one's own: its thoughts are kept, and neither itself nor others hear them."""
    written(
        tmp_path / "bot.py", "def reply(history):\n    return f'<think>{len(history)}</think>' + history[-1].text\n"
    )
    spec = own("callable", tmp_path, function="bot.py:reply")
    agent = load_agent(spec).clone()
    agent.observe({"text": "Hi!", "episode_done": False})
    assert agent.act()["text"] == "Hi!"
    assert agent.dialogue == [("human", "Hi!"), ("bot", "Hi!")]
    with ModelPool([spec]) as pool:
        speaker: BotSpeakerAgent = pool.speaker(["mine"], seed=0)
        candidate = say(speaker, "Hi!")
        assert (candidate["text"], candidate["raw_text"]) == ("Hi!", "<think>1</think>Hi!")
        say(speaker, "More")
        assert speaker.dialogue == [("human", "Hi!"), ("bot", "Hi!"), ("human", "More")]


THINKING_TEMPLATE = CHAT_TEMPLATE.replace("<|turn|>assistant\n{% endif", "<|turn|>assistant\n<think>\n{% endif")
HARMONY_TEMPLATE = (
    "{% for message in messages %}<|start|>{{ message['role'] }}"
    "{% if message['role'] == 'assistant' %}<|channel|>final{% endif %}<|message|>{{ message['content'] }}<|end|>"
    "{% endfor %}{% if add_generation_prompt %}<|start|>assistant{% endif %}"
)


def test_templates_tell_where_thoughts_begin_and_that_their_end_ends_no_reply() -> None:
    """Guards local models: prompts that end with the first mark, and channels whose marks part messages of one turn."""
    assert ChatFormat(tokenizer_of(), template=CHAT_TEMPLATE).begun == ""
    assert ChatFormat(tokenizer_of(), template=THINKING_TEMPLATE).begun == "<think>"
    harmony = ChatFormat(tokenizer_of(), template=HARMONY_TEMPLATE)
    assert (harmony.markers, harmony.turn_ends, harmony.begun) == ((), [], "")


def test_a_local_model_thinks_by_the_tokens_of_its_tokenizer() -> None:
    """Guards tokenizers that call the marks of thoughts special, of which a decoder would leave nothing."""
    agent = agent_of("gpt2")
    tokenizer = agent.pretrained.tokenizer
    marks = ["[THINK]", "[/THINK]"]
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|turn|>", "<|done|>", *marks]})
    begin, end = tokenizer.convert_tokens_to_ids(marks)
    plan, reply = (tokenizer(words)["input_ids"] for words in ("Hello there", "Hello"))
    said = agent._message(WHOLE, [begin, *plan, end, *reply])
    assert (said["text"], said[INFO_FIELD].thoughts) == ("Hello", "Hello there")
    cut = agent._message(WHOLE, [begin, *plan])
    assert (cut["text"], cut[INFO_FIELD].thoughts) == ("", "Hello there")
    assert INFO_FIELD not in agent._message(WHOLE, reply)
    assert not agent._is_over("[THINK]Let me see.\nHuman: who?\n")
    assert agent._is_over("[THINK]Let me see.[/THINK]Me.\nHuman: who?")
