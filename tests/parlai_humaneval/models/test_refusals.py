# ruff: noqa: E501 - words of servers are not cut
"""Servers that refuse a request in their own words: the option of the zoo entry that mends it is named, and then mends it."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web
from chat_pool import AGENT, MakePool, say
from faulty_server import Fault, FaultyServer, answers, completion, piece, streams

from parlai_humaneval.models.backends.server_refusals import HISTORY, REFUSALS, Sent, mend_of, tokens_told
from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.pool.asking import ModelFailed
from parlai_humaneval.models.zoo.entries import ModelSpec
from parlai_humaneval.models.zoo.secrets import base_of

SETTINGS: dict[str, Any] = {
    "system_prompt": "Be kind.", "temperature": 0.7, "top_p": 0.9, "presence_penalty": 0.1, "frequency_penalty": 0.1,
    "max_tokens": 100, "stop": ["\n"], "extra_body": '{"top_k": 40}',
}  # fmt: skip
OPENAI = {"type": "invalid_request_error", "param": None, "code": "unsupported_parameter"}


def error(message: str, **more: Any) -> dict[str, Any]:
    """The envelope of OpenAI, llama.cpp, Groq and most others."""
    return {"error": {"message": message, **OPENAI, **more}}


def forbidden(*place: str) -> dict[str, Any]:
    """What pydantic says of a field that it does not know."""
    return {"type": "extra_forbidden", "loc": ["body", *place], "msg": "Extra inputs are not permitted", "input": 7}


def refuses(wanted: Any, status: int, data: Any) -> Fault:
    """A server that answers the requests of which ``wanted`` is true, and refuses all others so."""

    async def answer(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if not wanted(body):
            return web.json_response(data, status=status)
        if body.get("stream"):
            return await streams(piece("Fine.", "stop"))(request, body)
        return web.json_response(completion())

    return answer


def roles(body: dict[str, Any]) -> list[str]:
    return [message["role"] for message in body["messages"]]


def without(field: str) -> Any:
    return lambda body: field not in body


NO_SYSTEM = {"wanted": lambda body: "system" not in roles(body), "mend": {"system_role": "user"}}
NO_SEED = {"wanted": without("seed"), "mend": {"send_seed": False}}
STREAMS = {"wanted": lambda body: body.get("stream") is True, "mend": {"stream": True}}
CASES: dict[str, tuple[int, Any, dict[str, Any]]] = {
    "openai: limit field": (
        400,
        error("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."),
        {"wanted": without("max_tokens"), "mend": {"limit_field": "max_completion_tokens"}},
    ),
    "vllm, old: limit field": (
        400,
        {"object": "error", "message": "[{'type': 'extra_forbidden', 'loc': ('body', 'max_completion_tokens'), 'msg': "
         "'Extra inputs are not permitted', 'input': 100}]", "type": "BadRequestError", "param": None, "code": 400},
        {"given": {"limit_field": "max_completion_tokens"}, "wanted": without("max_completion_tokens"),
         "mend": {"limit_field": "max_tokens"}},
    ),
    "mistral: seed": (422, {"object": "error", "message": {"detail": [forbidden("seed")]}, "type": "x"}, NO_SEED),
    "azure: seed": (400, error("Unrecognized request argument supplied: seed"), NO_SEED),
    "fastapi: seed": (422, {"detail": [forbidden("seed")]}, NO_SEED),
    "gemini: seed": (
        400,
        [{"error": {"code": 400, "status": "INVALID_ARGUMENT",
                    "message": 'Invalid JSON payload received. Unknown name "seed": Cannot find field.'}}],
        NO_SEED,
    ),
    "a program: seed": (400, {"error": "unrecognized argument: seed"}, NO_SEED),
    "vllm with gemma: system": (
        400, {"object": "error", "message": "System role not supported", "type": "BadRequestError", "code": 400}, NO_SYSTEM),
    "sglang with gemma: system": (500, {"message": "System role not supported"}, NO_SYSTEM),
    "llama.cpp: system": (500, error("While executing: Jinja Exception: System role not supported"), NO_SYSTEM),
    "gemini: system": (400, error("Developer instruction is not enabled for models/gemma-3"), NO_SYSTEM),
    "openai o1: system": (
        400,
        error("Unsupported value: 'messages[0].role' does not support 'system' with this model.", param="messages[0].role"),
        NO_SYSTEM,
    ),
    "mistral's old template: roles": (
        400, error("Conversation roles must alternate user/assistant/user/assistant/..."), NO_SYSTEM),
    "deepseek: developer": (
        422,
        error("Failed to deserialize the JSON body: messages[0].role: unknown variant `developer`, expected one of `system`, "
              "`user`, `assistant`, `tool` at line 1"),
        {"given": {"system_role": "developer"}, "wanted": lambda body: "developer" not in roles(body),
         "mend": {"system_role": "system"}},
    ),
    "dashscope: stream": (
        400, error("This model only support stream mode, please enable the stream parameter to access the model. "), STREAMS),
    "a program: stream": (400, {"error": "only stream mode is supported"}, STREAMS),
    "dashscope: thinking": (
        400, error("parameter.enable_thinking must be set to false for non-streaming calls"), STREAMS),
    "openai o1: no stream": (
        400, error("Unsupported value: 'stream' does not support true with this model. Only the default (false) value is supported."),
        {"given": {"stream": True}, "wanted": without("stream"), "mend": {"stream": False}}),
    "openai gpt-5: temperature": (
        400,
        error("Unsupported value: 'temperature' does not support 0.7 with this model. Only the default (1) value is supported.",
              param="temperature"),
        {"wanted": without("temperature"), "mend": {"temperature": None}},
    ),
    "litellm: temperature": (
        400, error("litellm.UnsupportedParamsError: gpt-5 models don't support temperature=0.7. Only temperature=1 is supported."),
        {"wanted": without("temperature"), "mend": {"temperature": None}}),
    "openai gpt-5: stop": (400, error("Unsupported parameter: 'stop' is not supported with this model.", param="stop"),
                           {"wanted": without("stop"), "mend": {"stop": None}}),
    "xai: presence penalty": (
        400, {"code": "Client specified an invalid argument", "error": "Argument not supported on this model: presencePenalty"},
        {"wanted": without("presence_penalty"), "mend": {"presence_penalty": None}}),
    "xai, newer: frequency penalty": (
        400, error("Model grok-4 does not support parameter frequencyPenalty."),
        {"wanted": without("frequency_penalty"), "mend": {"frequency_penalty": None}}),
    "anthropic: both": (
        400, error("`temperature` and `top_p` cannot both be specified for this model. Please use only one."),
        {"wanted": without("top_p"), "mend": {"top_p": None}}),
    "openai: most tokens": (
        400, error("max_tokens is too large: 100. This model supports at most 64 completion tokens, whereas you provided 100."),
        {"wanted": lambda body: body["max_tokens"] <= 64, "mend": {"max_tokens": 64}}),
    "tgi: most tokens": (
        422, {"error": "Input validation error: `max_new_tokens` must be <= 64. Given: 100", "error_type": "validation"},
        {"wanted": lambda body: body["max_tokens"] <= 64, "mend": {"max_tokens": 64}}),
    "groq: most tokens": (
        400, error("`max_tokens` must be less than or equal to `64`, the maximum value for `max_tokens` is less than the "
                   "`context_window` for this model"),
        {"wanted": lambda body: body["max_tokens"] <= 64, "mend": {"max_tokens": 64}}),
    "vllm: the only model": (
        404, {"object": "error", "message": "The model `asked` does not exist.", "type": "NotFoundError", "code": 404},
        {"wanted": lambda body: body["model"] == "llama-3", "models": ["llama-3"], "mend": {"served_model": "llama-3"}}),
    "ollama: the only model": (
        404, error('model "asked" not found, try pulling it first'),
        {"wanted": lambda body: body["model"] == "llama-3", "models": ["llama-3"], "mend": {"served_model": "llama-3"}}),
    "mistral: the only model": (
        400, {"object": "error", "message": "Invalid model: asked", "type": "invalid_model", "code": "1500"},
        {"wanted": lambda body: body["model"] == "llama-3", "models": ["llama-3"], "mend": {"served_model": "llama-3"}}),
    "transformers serve: the only model": (
        400, {"detail": "Server is pinned to 'llama-3'; requested 'asked'."},
        {"wanted": lambda body: body["model"] == "llama-3", "mend": {"served_model": "llama-3"}}),
}  # fmt: skip
"""Status and body of a server, what it would take, and the options that make it so. ``given``: options of the entry besides."""


@pytest.mark.parametrize("case", CASES)
def test_a_refusal_names_the_option_and_the_option_mends_it(server: FaultyServer, chat: MakePool, case: str) -> None:
    """Guards the whole way: a real refusal, one sentence with the option, no hopeless repetition, and that the option helps."""
    status, data, about = CASES[case]
    server.models = about.get("models")
    server.otherwise = refuses(about["wanted"], status, data)
    given = {**SETTINGS, **about.get("given", {})}
    with pytest.raises(ModelFailed) as failed:
        say(chat(**given).speaker(["m"]))
    ((option, value),) = about["mend"].items()
    (mend,) = failed.value.mends
    assert (mend.option, mend.value, mend.is_settled) == (option, value, True)
    assert f"`{mend.as_yaml}` in the options of its zoo entry" in str(failed.value)
    if status < 500:
        assert len(server.requests) == 1, "it would refuse however often one asks"
    mended = {name: each for name, each in {**given, option: value}.items() if each is not None}
    assert say(chat(**mended).speaker(["m"]))["text"] == "Fine."


@pytest.mark.parametrize(
    ("status", "data", "says"),
    [
        (
            422,
            {"error": "Input validation error: `temperature` must be strictly positive"},
            "set temperature to another value",
        ),
        (
            400,
            error("Unknown parameter: 'top_k'.", code="unknown_parameter", param="top_k"),
            "leave top_k out of extra_body",
        ),
        (
            400,
            error("Could not finish the message because max_tokens or model output limit was reached."),
            "raise max_tokens",
        ),
        (422, {"detail": "Unexpected fields in the request: {'top_k'}"}, "leave top_k out of extra_body"),
        (500, "Internal Server Error", "its log says why; if that is a chat template without a system role"),
        (404, error("The model `asked` does not exist"), "check served_model: it has asked-7b, other, third"),
        (404, error("Missing required query parameter: api-version"), "let base_url end in /openai/v1"),
    ],
)
def test_where_only_people_can_choose_the_sentence_says_what(
    server: FaultyServer, chat: MakePool, status: int, data: Any, says: str
) -> None:
    """Guards refusals that have no one cure: nothing is offered to be written, and the sentence names the option."""
    server.models, server.otherwise = ["other", "third", "asked-7b"], answers(data, status)
    with pytest.raises(ModelFailed, match=says) as failed:
        say(chat(**SETTINGS).speaker(["m"]))
    assert not any(mend.is_settled for mend in failed.value.mends)
    assert len(server.requests) == (1 if status < 500 else 2), "one retry of the client, and none of the pool"


@pytest.mark.parametrize("stream", [False, True])
def test_a_refusal_with_status_200_is_read_too(server: FaultyServer, chat: MakePool, stream: bool) -> None:
    """Guards gateways, and servers that have begun a stream before they look at the request."""
    data = error("Unrecognized request argument supplied: seed")
    server.otherwise = streams(data) if stream else answers(data)
    with pytest.raises(ModelFailed, match="write `send_seed: false`"):
        say(chat(stream=stream).speaker(["m"]))


@pytest.mark.parametrize(
    "said",
    ["unknown key 'topp'", "out of memory", "Rate limit reached for requests", "the seed of doubt was not supported by facts",
     "Stop! This is not allowed.", "Input should be a valid string"],
)  # fmt: skip
def test_other_words_get_no_advice(said: str) -> None:
    """Guards against a confident sentence on something else, such as a field that was not even sent."""
    assert mend_of(said, Sent({"temperature": 1}, ["user"], False)) is None


@pytest.mark.parametrize("text", [None, "", "<think>I must not say"])
def test_tokens_that_ran_out_before_any_text_are_told_as_that(
    server: FaultyServer, chat: MakePool, text: str | None
) -> None:
    """Guards “no text” as the whole story of a model that thought until its tokens were used up."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "length"}
    server.otherwise = answers(completion(choices=[choice]))
    with pytest.raises(ModelFailed, match="it ran out of tokens before any text of its reply; raise max_tokens"):
        say(chat(max_tokens=5).speaker(["m"]))


TOO_LONG: dict[str, tuple[int, str, tuple[int, int] | None]] = {
    "openai": (400, "This model's maximum context length is 4097 tokens. However, your messages resulted in 7575 tokens. Please reduce the length of the messages.", (4097, 7575)),
    "openai, older": (400, "This model's maximum context length is 4097 tokens, however you requested 4226 tokens (3970 in your prompt; 256 for the completion).", (4097, 3970)),
    "vllm": (400, "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the messages, 10000 in the completion).", (16384, 112946)),
    "vllm, newer": (400, "This model's maximum context length is 131072 tokens. However, you requested 128000 output tokens and your prompt contains at least 3073 input tokens, for a total of at least 131073 tokens.", (131072, 3073)),
    "llama.cpp": (400, "request (131168 tokens) exceeds the available context size (131072 tokens), try increasing it", (131072, 131168)),
    "llama.cpp, older": (500, "the request exceeds the available context size. try increasing the context size or enable context shift', 'type': 'exceed_context_size_error', 'n_prompt_tokens': 1407, 'n_ctx': 256", (256, 1407)),
    "llama-cpp-python": (400, "Requested tokens (2065) exceed context window of 1800", (1800, 2065)),
    "mistral": (400, "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length", (32768, 40000)),
    "tgi": (422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 1887 `inputs` tokens and 1024 `max_new_tokens`", (2048, 1887)),
    "tgi, inputs alone": (422, "Input validation error: `inputs` must have less than 1024 tokens. Given: 1200", None),
    "sglang": (400, "The input (61709 tokens) is longer than the model's context length (40960 tokens).", (40960, 61709)),
    "sglang, newer": (400, "Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).", (59862, 160062)),
    "anthropic": (400, "prompt is too long: 204567 tokens > 200000 maximum", (200000, 204567)),
    "gemini": (400, "The input token count (2845475) exceeds the maximum number of tokens allowed (1048576).", (1048576, 2845475)),
    "groq": (400, "Please reduce the length of the messages or completion.", None),
    "groq, a minute": (413, "Request too large for model `llama` on tokens per minute (TPM): Limit 6000, Requested 8012", (6000, 8012)),
    "lm studio": (400, "Trying to keep the first 15857 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough", (4096, 15857)),
    "dashscope": (400, "Range of input length should be [1, 30720]", None),
    "omlx": (400, "Prompt too long: 41911 tokens exceeds max context window of 32768 tokens", (32768, 41911)),
}  # fmt: skip
"""Words of servers whose model cannot read so much, and the numbers in them: the most that it can, and what it was sent."""


@pytest.mark.parametrize("server_kind", TOO_LONG)
def test_a_history_that_is_too_long_is_known_by_any_servers_words(server_kind: str) -> None:
    """Guards against a dialogue that ends because its server says in new words that it has grown too long."""
    _, said, numbers = TOO_LONG[server_kind]
    mend = mend_of(said, Sent({"max_tokens": 100}, ["user"], False))
    assert mend is not None
    assert mend.option == HISTORY
    assert tokens_told(said) == numbers


def test_the_examples_of_the_table_are_such() -> None:
    """Guards the documentation, which shows them: each is known by the row in which it stands."""
    fields = dict.fromkeys(("max_tokens", "seed", "temperature", "top_p"), 1)
    sent = [Sent(fields, ["system", "assistant", "user"]), Sent(fields, ["user", "assistant"], stream=True)]
    for example, cure in ((words, cure) for refusal in REFUSALS for words, cure in refusal.examples.items()):
        mends = [mend for mend in (mend_of(example, each) for each in sent) if mend is not None]
        assert any(mend.option in cure for mend in mends), f"“{example}” is not mended by {cure}"


@pytest.mark.parametrize(
    "behind", ["", "/", "/chat/completions", "/chat/completions/", "//", "/models", "/completions"]
)
def test_an_address_may_be_given_with_the_path_behind_it(server: FaultyServer, behind: str) -> None:
    """Guards the address that people copy from a server's document, which ends in the path of the interface."""
    options = {"model": AGENT, "base_url": f"{server.base_url}{behind}", "served_model": "asked", "api_key_env": ""}
    with ModelPool([ModelSpec(name="m", options=options)]) as pool:
        assert say(pool.speaker(["m"]))["text"] == "Fine."


def test_other_paths_are_left_as_they_are() -> None:
    """Guards gateways whose base has a path of its own."""
    assert base_of("https://gateway.example/openai/models/v1/") == "https://gateway.example/openai/models/v1"
    assert base_of(" http://localhost:8000 ") == "http://localhost:8000"
