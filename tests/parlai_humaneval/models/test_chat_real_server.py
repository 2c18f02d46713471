"""The chat_completions agent with a server that others wrote: ``transformers serve`` and a tiny random model on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from click.testing import CliRunner
from real_server import program, save_chat_model, serving
from warm_python import WarmPython

from parlai_humaneval.cli import main
from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.pool.asking import ModelFailed
from parlai_humaneval.models.zoo.entries import ModelSpec

AGENT = "parlai_humaneval.agents.chat_completions:ChatCompletionsAgent"
TURNS = ("hello you", "do you like dogs", "what a good day")


class Real(NamedTuple):
    """The running server, and the folder of its model, which is also its name there."""

    base_url: str
    model: Path

    def options(self, **options: Any) -> dict[str, Any]:
        own = {"model": AGENT, "base_url": self.base_url, "served_model": str(self.model), "api_key_env": ""}
        return {**own, "max_tokens": 12, "request_retries": 0, **options}

    def pool(self, **options: Any) -> ModelPool:
        return ModelPool([ModelSpec(name="real", options=self.options(**options))], retries=2)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory, warm: WarmPython) -> Iterator[Real]:
    program()
    folder = tmp_path_factory.mktemp("real")
    model = save_chat_model(folder / "tiny-chat")
    with serving(model, folder / "log.txt", warm) as base_url:
        yield Real(base_url, model)


def chat(pool: ModelPool, seed: int = 1, persona: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """The candidates of one dialogue."""
    speaker = pool.speaker(["real"], seed=seed, personas={"real": persona} if persona else None)
    candidates = []
    for text in TURNS:
        speaker.observe({"text": text, "episode_done": False})
        candidates.append(dict(speaker.act()["candidates"][0]))
    return candidates


def prompt_lengths(model: Path, system: str, replies: list[str]) -> list[int]:
    """Tokens of each turn's request, by the model's own tokenizer and template."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    messages = [{"role": "system", "content": system}]
    lengths = []
    for said, reply in zip(TURNS, replies, strict=True):
        messages.append({"role": "user", "content": said})
        read = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        lengths.append(len(tokenizer(read, add_special_tokens=False)["input_ids"]))
        messages.append({"role": "assistant", "content": reply})
    return lengths


@pytest.mark.parametrize("stream", [False, True])
def test_a_dialogue_is_understood_and_accounted_for_to_the_token(real: Real, stream: bool) -> None:
    """Guards the format of the messages and the records: the server counts just the tokens that its template makes of
    the system prompt, the persona and all that was said."""
    with real.pool(system_prompt="we play {persona}", price_prompt=1.0, price_completion=2.0, stream=stream) as pool:
        candidates = chat(pool, persona=("i like music",))
    infos = [candidate["info"] for candidate in candidates]
    expected = prompt_lengths(real.model, "we play i like music", [candidate["text"] for candidate in candidates])
    assert [info["prompt_tokens"] for info in infos] == expected
    for candidate, info in zip(candidates, infos, strict=True):
        assert candidate["text"]
        assert real.model.name in info["served_model"]
        assert 1 <= info["completion_tokens"] <= 12
        assert info["finish_reason"] == ("length" if info["completion_tokens"] == 12 else "stop")
        assert info["cost"] == pytest.approx((info["prompt_tokens"] + 2 * info["completion_tokens"]) / 1e6)


def test_a_seed_repeats_a_dialogue_and_another_does_not(real: Real) -> None:
    """Guards the seed's way through conversation, turn and request."""
    with real.pool(temperature=2.0) as pool:
        one, again, other = ([candidate["text"] for candidate in chat(pool, seed)] for seed in (1, 1, 2))
    assert one == again != other


def test_a_stream_gives_the_same_words_as_a_whole_reply(real: Real) -> None:
    """Guards against words lost in a real stream; the likeliest token is taken, so that there is no chance in it."""
    texts = []
    for stream in (False, True):
        with real.pool(temperature=0, stream=stream) as pool:
            texts.append([candidate["text"] for candidate in chat(pool)])
    assert texts[0] == texts[1]


def test_stop_ends_a_reply(real: Real) -> None:
    """Guards sampling options on their way: cut at a piece of what it said without them."""
    with real.pool(temperature=0) as pool:
        whole = chat(pool)[0]
    stop = whole["text"][2:4]
    with real.pool(temperature=0, stop=[stop]) as pool:
        cut = chat(pool)[0]
    assert cut["info"]["completion_tokens"] < whole["info"]["completion_tokens"]
    assert whole["text"].startswith(cut["text"])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"served_model": "no/such-model"}, "status 400 and says .*; write `served_model: .*tiny-chat`"),
        ({"extra_body": '{"nonsense": 1}'}, "status 422 and says .*; leave nonsense out of extra_body"),
        ({"base_url": "http://127.0.0.1:{port}/v2"}, "status 404 .* base_url"),
    ],
)
def test_a_real_refusal_says_what_to_check(real: Real, options: dict[str, str], says: str) -> None:
    """Guards the sentences that people will meet first: a wrong model, a field that the server refuses, a wrong path."""
    port = real.base_url.rpartition(":")[2].removesuffix("/v1")
    wrong = {key: value.replace("{port}", port) for key, value in options.items()}
    with real.pool(**wrong) as pool, pytest.raises(ModelFailed, match=says):
        chat(pool)


def test_an_error_in_a_real_stream_is_told_in_the_servers_words(real: Real) -> None:
    """Guards the reason that the client leaves out of its own message: this tokenizer cannot stop at a line break."""
    with (
        real.pool(stream=True, stop=["\n"]) as pool,
        pytest.raises(ModelFailed, match="stopped in the middle and says “Stop string"),
    ):
        chat(pool)


def test_models_check_loads_and_asks_it(real: Real, tmp_path: Path) -> None:
    """Guards the way in for people: an entry of a zoo file, tried by one command."""
    zoo = tmp_path / "zoo.yaml"
    zoo.write_text(yaml.safe_dump({"models": {"mine": {"options": real.options(stop=["day"], stream=True)}}}))
    done = CliRunner().invoke(main, ["models", "check", "mine", "--load", "--json", "--zoo", str(zoo)])
    (result,) = json.loads(done.stdout)
    assert done.exit_code == 0, done.output
    assert result["ok"]
    assert result["reply"]


def test_fix_writes_what_a_real_server_wants(real: Real, tmp_path: Path) -> None:
    """Guards the way from a refusal to an answer: the server's own words give the name, and the file gets it."""
    zoo = tmp_path / "zoo.yaml"
    zoo.write_text(yaml.safe_dump({"models": {"mine": {"options": real.options(served_model="no/such-model")}}}))
    command = ["models", "check", "mine", "--load", "--zoo", str(zoo)]
    assert CliRunner().invoke(main, command).exit_code == 1
    done = CliRunner().invoke(main, [*command, "--fix"])
    assert done.exit_code == 0, done.output
    assert yaml.safe_load(zoo.read_text())["models"]["mine"]["options"]["served_model"] == str(real.model)


def test_a_template_without_a_system_role_is_guessed_at_where_the_server_says_nothing(
    tmp_path: Path, warm: WarmPython
) -> None:
    """Guards Gemma and the like behind servers that answer 500 and no more, whose log alone has the reason."""
    program()
    model = save_chat_model(tmp_path / "tiny-chat")
    template = model / "chat_template.jinja"
    refusing = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
    if template.exists():
        template.write_text(refusing + template.read_text())
    else:  # older versions keep it beside the tokenizer's settings
        settings = json.loads((model / "tokenizer_config.json").read_text())
        settings["chat_template"] = refusing + settings["chat_template"]
        (model / "tokenizer_config.json").write_text(json.dumps(settings))
    with serving(model, tmp_path / "log.txt", warm) as base_url:
        there = Real(base_url, model)
        with there.pool(system_prompt="we play") as pool, pytest.raises(ModelFailed, match="write `system_role: user`"):
            chat(pool)
        with there.pool(system_prompt="we play", system_role="user") as pool:
            assert all(candidate["text"] for candidate in chat(pool))
