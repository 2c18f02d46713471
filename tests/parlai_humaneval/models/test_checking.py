"""What `models check` finds out: states, words on them, and that it looks without touching."""

from __future__ import annotations

from pathlib import Path

import pytest
from parlai.core.opt import Opt

from parlai_humaneval.models.check import check, load_and_ask
from parlai_humaneval.models.pool.loading import load_agent
from parlai_humaneval.models.zoo import files as memory
from parlai_humaneval.models.zoo.entries import ModelSpec, Training, ZooError, load_zoo

CHAT = "parlai_humaneval.agents.chat_completions:ChatCompletionsAgent"


def spec(**options: object) -> ModelSpec:
    return ModelSpec(name="mine", options=dict(options))


def served(**options: object) -> ModelSpec:
    return spec(model=CHAT, served_model="m", **options).model_copy(update={"origin": "endpoint"})


def test_an_agent_that_cannot_be_imported_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards against pages of a library's advice (NLTK's), of which the first line says what is missing."""
    (tmp_path / "wordy.py").write_text(
        'raise LookupError("\\n*****\\n  No stop words.\\n  Try this.\\n")', encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    found = check(spec(model="wordy:Agent"))
    assert (found.state, found.why) == ("cannot", "agent")
    assert found.missing == ["The agent wordy:Agent cannot be imported: No stop words."]


def test_a_wrong_option_is_found_though_the_model_is_not_here_yet() -> None:
    """Guards a spelling mistake that would show only after gigabytes were downloaded, or a day of training."""
    blender = load_zoo()["blender_90M"]
    wrong = blender.model_copy(update={"options": {**blender.options, "beam_sise": 3}})
    assert (check(wrong).state, check(wrong).why) == ("cannot", "options")
    assert "no option called beam_sise" in check(wrong).missing[0]
    untrained = load_zoo()["ji2022_lstm"]
    wrong = untrained.model_copy(update={"options": {**untrained.options, "topp": "much"}})
    assert (check(wrong).state, check(wrong).why) == ("cannot", "options")
    assert "topp" in check(wrong).missing[0]


def test_files_of_ones_own_are_looked_for(tmp_path: Path) -> None:
    """Guards a model file and a folder of Hugging Face's kind that are not where they are said to be."""
    lost = check(spec(model="transformer/generator", model_file=str(tmp_path / "model")))
    assert (lost.state, lost.why, lost.missing) == ("cannot", "file", [f"model_file {tmp_path}/model does not exist."])
    agent = "parlai_humaneval.agents.causal_lm:CausalLmAgent"
    lost = check(spec(model=agent, hf_model=str(tmp_path / "chat")))
    assert (lost.state, lost.why, lost.missing) == ("cannot", "file", [f"hf_model {tmp_path}/chat does not exist."])
    found = check(spec(model=agent, hf_model="no-such-owner/no-such-model"))
    assert (found.state, found.why) == ("to download", "Hugging Face")


def test_too_little_memory_is_told_before_a_download(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards a download of gigabytes of weights that this machine cannot hold."""
    blender = load_zoo()["blender_3B"]
    monkeypatch.setattr(memory, "_free_bytes", lambda _: ("in this machine", 6.6e9))
    assert check(blender).state == "to download"
    monkeypatch.setattr(memory, "_free_bytes", lambda _: ("in this machine", 6.4e9))
    found = check(blender)
    assert (found.state, found.why, found.ok) == ("cannot", "memory", False)
    assert "about 6.5 GB" in found.missing[0]


def test_a_server_is_named_with_the_variable_of_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards an endpoint's check: address and variable are told, a key that is not set is missing, and none is shown."""
    hosted = served(base_url="https://api.example.org/v1", api_key_env="EXAMPLE_KEY")
    monkeypatch.delenv("EXAMPLE_KEY", raising=False)
    without = check(hosted)
    assert (without.state, without.why, without.ok) == ("cannot", "key", False)
    assert "EXAMPLE_KEY is not set" in without.missing[0]
    monkeypatch.setenv("EXAMPLE_KEY", "secret-123")
    found = check(hosted)
    assert (found.state, found.why, found.ok) == ("to serve", "https://api.example.org/v1", True)
    assert "https://api.example.org/v1" in found.asks[0]
    assert "EXAMPLE_KEY" in found.asks[1]
    assert "secret-123" not in str(found.as_json())


def test_a_server_of_ones_own_is_not_called_ready_before_it_is_asked() -> None:
    """Guards against “ready” for an address that nobody has tried, whatever the zoo entry says of its origin."""
    own = served(base_url="http://no.such.host:8000/v1").model_copy(update={"origin": "yours"})
    found = check(own)
    assert (found.state, found.ok) == ("to serve", True)
    assert "is only contacted with --load" in found.asks[0]


def test_an_untrained_model_names_its_command_and_what_goes_before(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Guards the advice; and that a model whose file is there is ready, however it is trained."""
    monkeypatch.setenv("PARLAI_HUMANEVAL_HOME", str(tmp_path))
    own = spec(model="seq2seq", model_file="home:own/model")
    block = Training(options={"task": "dailydialog"}, before=["dialogues in home:data/own.txt"], takes="an hour")
    own = own.model_copy(update={"origin": "training", "training": block})
    found = check(own)
    assert (found.state, found.ok) == ("to train", False)
    assert found.missing[1:] == [
        f"Before its training: dialogues in {tmp_path}/models/data/own.txt.",
        "To train it: `parlai-humaneval models train mine` (an hour).",
    ]
    (tmp_path / "models/own").mkdir(parents=True)
    (tmp_path / "models/own/model").write_bytes(b"")
    assert check(own).state == "ready"


def test_loading_says_how_long_it_took_and_what_it_answers() -> None:
    """Guards `--load` for a model that needs nothing."""
    tried = load_and_ask(load_zoo()["dull"])
    assert tried["reply"] == "I see. Can you tell me a little more about that?"
    assert tried["load_s"] >= 0


GREEDY = {"model": "transformer/generator", "inference": "greedy"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({**GREEDY, "beam_size": 3}, "inference greedy uses one beam, but beam_size is 3"),
        ({**GREEDY, "inference": "topk", "topk": 0}, "topk must be at least 1"),
        ({**GREEDY, "inference": "nucleus", "topp": 0.0}, "topp must be above 0"),
        ({**GREEDY, "inference": "beam", "beam_size": 0}, "beam_size must be at least 1"),
        ({**GREEDY, "temperature": 0}, "temperature must be above 0"),
        ({**GREEDY, "skip_generation": True}, "set `skip_generation: false`"),
        ({**GREEDY, "beam_sise": 3}, "no option called beam_sise. Did you mean beam_size"),
    ],
)
def test_what_parlai_refuses_at_the_first_reply_is_refused_here(options: dict[str, object], words: str) -> None:
    """Guards a study against a model that loads, and has no reply for its first rater."""
    found = check(spec(**options))
    assert (found.state, found.why) == ("cannot", "options")
    assert words in found.missing[0]


def test_a_greedy_variant_of_a_model_that_was_saved_with_beams(tmp_path: Path) -> None:
    """Guards `extends` with `inference: greedy`: the saved beams stay, and so does an old file that names no inference."""
    (tmp_path / "model").touch()
    file = {"model_file": str(tmp_path / "model")}
    Opt({"model": "transformer/generator", "inference": "beam", "beam_size": 10}).save(str(tmp_path / "model.opt"))
    assert check(spec(**file)).ok
    assert "beam_size is 10; set beam_size: 1" in check(spec(**file, inference="greedy")).missing[0]
    with pytest.raises(ZooError, match="beam_size is 10"):
        load_agent(spec(**file, **GREEDY))
    assert check(spec(**file, inference="greedy", beam_size=1)).ok
    Opt({"model": "transformer/generator", "beam_size": 10}).save(str(tmp_path / "model.opt"))
    assert check(spec(**file)).ok


def test_options_that_change_nothing_are_told() -> None:
    """Guards a comparison of two names that are one model: ParlAI passes such options over."""
    found = check(spec(**GREEDY, topp=0.5, beam_min_length=20, beam_size=1))
    assert found.ok
    assert found.as_json()["notes"] == ["With inference greedy, topp, beam_min_length has no effect."]
    assert check(spec(**{**GREEDY, "inference": "nucleus"}, topp=0.5, beam_min_length=20)).notes == []
