"""Keys that somebody writes into a zoo file: refused before anything is shown, stored or sent, and never repeated."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from parlai_humaneval.cli.models import models
from parlai_humaneval.models.check import check
from parlai_humaneval.models.zoo.entries import ModelSpec, ZooError, load_zoo
from parlai_humaneval.models.zoo.secrets import is_variable_name, key_in_address, key_trouble, without_key

CHAT = "parlai_humaneval/chat_completions"
KEY = "sk-proj-Abc123INLINE"


def test_every_packaged_option_passes() -> None:
    """Guards the zoo's own options (max_tokens, add_special_tokens …), which are no keys."""
    assert {spec.name: key_trouble(spec.options) for spec in load_zoo().values() if key_trouble(spec.options)} == {}


@pytest.mark.parametrize("value", [KEY, "Bearer abc", "hf_abcDEF123", "AKIAIOSFODNN7EXAMPLE", "A" * 41, "a b", "7UP"])
def test_a_key_is_no_name(value: str) -> None:
    """Guards keys of the common makers, which would else be told in “the variable … is not set”."""
    assert not is_variable_name(value)


@pytest.mark.parametrize("value", ["OPENAI_API_KEY", "MY_KEY_2", "key", "K", "GPT4_KEY", "_x"])
def test_a_name_is_a_name(value: str) -> None:
    """Guards names that people do give to variables."""
    assert is_variable_name(value)


def test_a_variable_that_is_set_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards whoever calls a variable as a key looks."""
    assert not is_variable_name("my_key_2")
    monkeypatch.setenv("my_key_2", "secret")
    assert is_variable_name("my_key_2")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"api_key_env": KEY}, "api_key_env takes the NAME of an environment variable"),
        ({"authorization_env": f"Bearer {KEY}"}, "authorization_env takes the NAME of an environment variable"),
        ({"api_key": KEY}, "api_key: keys do not belong in zoo files"),
        ({"apikey": KEY}, "apikey: keys do not belong in zoo files"),
        ({"hf_token": KEY}, "hf_token: keys do not belong in zoo files"),
        ({"token": KEY}, "token: keys do not belong in zoo files"),
        ({"Password": KEY}, "Password: keys do not belong in zoo files"),
        ({"extra_body": {"api-key": KEY}}, "extra_body.api-key: keys do not belong in zoo files"),
        ({"extra_body": json.dumps({"headers": {"X-Api-Key": KEY}})}, "X-Api-Key: keys do not belong in zoo files"),
        ({"extra_body": [{"Authorization": KEY}]}, "extra_body.0.Authorization: keys do not belong in zoo files"),
        ({"url": f"https://example.org/chat?v=2&api_key={KEY}"}, "url: “api_key” in the address looks like a key"),
        ({"url": f"https://example.org/chat?sig={KEY}"}, "set authorization_env to its name"),
        ({"command": f"python bot.py --key {KEY}"}, "command: something in it looks like a key"),
        ({"system_prompt": f"Say Bearer {KEY}"}, "system_prompt: something in it looks like a key"),
        ({"base_url": f"https://me:{KEY}@example.org/v1"}, "base_url: the address contains a name or password"),
    ],
)
@pytest.mark.parametrize("command", [["list"], ["check", "mine"], ["check", "--all", "--json"], ["chat", "mine"]])
def test_no_command_repeats_a_key(command: list[str], options: dict[str, object], says: str, tmp_path: Path) -> None:
    """Guards terminals, logs and records: the file is refused as a whole, and the words hold no key."""
    path = tmp_path / "zoo.yaml"
    entry = {"options": {"model": CHAT, "served_model": "m", **options}, "origin": "endpoint"}
    path.write_text(json.dumps({"models": {"mine": entry}}), encoding="utf-8")
    result = CliRunner().invoke(models, [*command, "--zoo", str(path)])
    assert result.exit_code == 1
    assert says in result.output
    assert KEY not in result.output


def test_a_key_among_the_options_of_a_training(tmp_path: Path) -> None:
    """Guards training.options, which are written into the model's own files."""
    path = tmp_path / "zoo.yaml"
    training = {"options": {"task": "x", "wandb_api_key": KEY}}
    path.write_text(json.dumps({"models": {"a": {"options": {"model": "b"}, "training": training}}}), encoding="utf-8")
    with pytest.raises(ZooError, match=r"models\.a\.training\.options\.wandb_api_key: keys do not belong") as refused:
        load_zoo([path])
    assert KEY not in str(refused.value)


def test_a_check_of_a_spec_that_no_file_holds() -> None:
    """Guards models that are made in code: their key is found, too, and not repeated."""
    found = check(ModelSpec(name="mine", origin="endpoint", options={"model": CHAT, "api_key_env": KEY}))
    assert (found.state, found.why) == ("cannot", "key")
    assert "takes the NAME" in found.missing[0]
    assert KEY not in json.dumps(found.as_json())


@pytest.mark.parametrize(
    "address", ["https://example.org/chat?version=2&stream=", "no address?key=7", "https://e.org/key"]
)
def test_an_address_without_a_key_passes(address: str) -> None:
    """Guards parameters that a server needs, and that everybody may read."""
    assert key_in_address(address) is None


def test_a_key_is_blotted_out_whole_and_without_its_scheme() -> None:
    """Guards a server that repeats the header, or only the key in it; short placeholders are words like others."""
    assert without_key(f"got Bearer {KEY}, that is {KEY}", f"Bearer {KEY}") == "got [key], that is [key]"
    assert without_key("none of it", "none") == "none of it"
