"""Loading models of Hugging Face: formats by model, devices and numbers, and a sentence for each thing that goes wrong."""

from __future__ import annotations

import json
import random
import re
import shutil
import sysconfig
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from tiny_architectures import save
from tiny_hugging_face import CHAT_TEMPLATE, SEQ2SEQ, agent_of, folder_of, heard, save_model, spec_of, texts

from parlai_humaneval.models.agent.names import is_transformers_5
from parlai_humaneval.models.backends import hugging_face
from parlai_humaneval.models.backends import hugging_face as refusals
from parlai_humaneval.models.backends.hugging_face import device_of, load_pretrained
from parlai_humaneval.models.backends.prompting import ChatFormat, PlainFormat
from parlai_humaneval.models.pool.loading import load_agent
from parlai_humaneval.models.zoo.entries import ZooError


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A folder of a GPT-2 that a test may damage."""
    return Path(shutil.copytree(folder_of("gpt2"), tmp_path / "gpt2"))


def refused(folder: Path | str, kind: str = "gpt2", **options: Any) -> str:
    with pytest.raises(ZooError) as raised:
        load_agent(spec_of(Path(folder), kind, **{"hf_model": str(folder), **options}))
    return str(raised.value)


def test_the_format_follows_the_model(copied: Path) -> None:
    """Guards ``auto``: a template where there is one, DialoGPT's by its name, else plain."""
    assert isinstance(agent_of("gpt2")._form, PlainFormat)
    dialogpt = copied.rename(copied.parent / "DialoGPT-tiny")
    agent = load_agent(spec_of(dialogpt, "gpt2"))
    assert agent.pretrained.tokenizer.decode(agent._prompt(heard(agent, "Hi!"))) == "Hi!</s>"
    assert texts(agent, [heard(agent, "Hi!"), heard(agent, "Hi!", "Hello.", "Who are you?")])[0]
    (dialogpt / "chat_template.jinja").write_text(CHAT_TEMPLATE, encoding="utf-8")
    assert isinstance(load_agent(spec_of(dialogpt, "gpt2"))._form, ChatFormat)
    assert isinstance(load_agent(spec_of(dialogpt, "gpt2", prompt_format="plain"))._form, PlainFormat)


def test_a_kind_that_is_not_said_is_causal(copied: Path) -> None:
    """Guards configurations that say null where they are no encoder–decoder."""
    config = json.loads((copied / "config.json").read_text(encoding="utf-8"))
    (copied / "config.json").write_text(json.dumps({**config, "is_encoder_decoder": None}), encoding="utf-8")
    assert load_pretrained(str(copied), "causal").model.config.model_type == "gpt2"


def test_a_template_may_come_from_a_file(tmp_path: Path) -> None:
    """Guards ``chat_template``, and that a model without any cannot be asked for the chat format."""
    file = tmp_path / "mine.jinja"
    file.write_text(CHAT_TEMPLATE, encoding="utf-8")
    agent = agent_of("llama", chat_template=str(file), system_prompt="Be kind.")
    read = agent.pretrained.tokenizer.decode(agent._prompt(heard(agent, "your persona: I ski.\nHi!")))
    assert read.startswith("<|turn|>system\nBe kind.\nYour persona: I ski.<|done|>")
    assert agent._config.eos_token_id == [2, 4, 5]
    assert texts(agent, [heard(agent, "Hi!")])[0]
    for switches, said in (("no", "must be a mapping"), ({"messages": []}, "cannot set messages")):
        given = {"chat_template": str(file), "chat_template_kwargs": switches}
        assert f"chat_template_kwargs: {said}" in refused(folder_of("llama"), "llama", **given)
    assert "set chat_template to a Jinja file" in refused(folder_of("llama"), "llama", prompt_format="chat")
    assert "nowhere.jinja: cannot be read" in refused(
        folder_of("llama"), "llama", chat_template=str(tmp_path / "nowhere.jinja")
    )


def test_encoder_decoders_read_their_own_formats() -> None:
    """Guards BlenderBot's two spaces, the lines of others, and that a long history loses whole turns."""
    for kind, joined in (("blenderbot", " Hi!  Hello.  Why?"), ("bart", "Hi!\nHello.\nWhy?")):
        agent = agent_of(kind)
        tokenizer = agent.pretrained.tokenizer
        assert tokenizer.decode(agent._prompt(heard(agent, "Hi!", "Hello.", "Why?"))) == joined
        long = agent._prompt(heard(agent, *[f"This is line {number} of many." for number in range(201)]))
        assert len(long) <= agent.pretrained.context
        assert tokenizer.decode(long).strip().startswith("This is line")


def test_a_tokenizer_without_padding_and_a_model_with_several_ends(tmp_path: Path) -> None:
    """Guards models as they are published: GPT-2 has no padding token, Llama 3 a list of ending tokens."""
    folder = save_model(tmp_path, "llama", tokenizer={"pad_token": None}, pad_token_id=None)
    settings = folder / "generation_config.json"
    common = 260
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "eos_token_id": [2, *range(common, 600)]}))
    agent = load_agent(spec_of(folder, "llama"))
    lines = [("Hi!",), ("I have two dogs and a very old cat.",), ("Why?", "I see.", "Well.")]
    observations = [heard(agent, *line) for line in lines]
    together = agent.batch_act(observations)
    assert [message["text"] for message in together] == [texts(agent, [one])[0] for one in observations]
    plain = agent_of("llama")
    written = plain.pretrained.tokenizer(texts(plain, observations))["input_ids"]
    assert any(token >= common for tokens in written for token in tokens), "no end would have been met"
    for message in together:
        assert max(agent.pretrained.tokenizer(message["text"])["input_ids"], default=0) < common


def test_settings_of_the_model_hold_until_an_option_says_otherwise(tmp_path: Path) -> None:
    """Guards BlenderBot's published search (beams, a minimum length), and ``-M0``, which is without the minimum."""
    folder = save_model(tmp_path, "blenderbot")
    settings = folder / "generation_config.json"
    own = {"num_beams": 3, "min_length": 20, "max_length": 60, "no_repeat_ngram_size": 3, "length_penalty": 0.65}
    settings.write_text(json.dumps({**json.loads(settings.read_text()), **own}))
    agent = load_agent(spec_of(folder, "blenderbot", max_new_tokens=None))
    config = agent._config
    assert (config.num_beams, config.min_new_tokens, config.max_new_tokens) == (3, 19, 59)
    assert len(agent._tokens([agent._prompt(heard(agent, "Hi!"))], [random.Random(1)])[0]) >= 19
    without = load_agent(spec_of(folder, "blenderbot", min_new_tokens=0, num_beams=1))._config
    assert (without.num_beams, without.min_new_tokens) == (1, 0)
    assert (without.no_repeat_ngram_size, without.length_penalty) == (3, 0.65)


@pytest.mark.parametrize("dtype", ["auto", "float32", "bfloat16"])
def test_numbers_of_the_weights(dtype: str) -> None:
    """Guards memory: half the bytes where they are asked for."""
    agent = agent_of("llama", dtype=dtype)
    assert agent.model.dtype == (torch.bfloat16 if dtype == "bfloat16" else torch.float32)
    assert texts(agent, [heard(agent, "Hi!"), heard(agent, "What do you like to eat?")])


def test_devices_have_parlais_names() -> None:
    """Guards ``device: cuda:9`` in a zoo file: an error, not a slow answer by the processor."""
    assert device_of({"no_cuda": True, "gpu": 0}) == "cpu"
    assert device_of({}) == ("cuda:0" if torch.cuda.is_available() else "cpu")
    with pytest.raises(ZooError, match="gpu 99 is not on this machine"):
        device_of({"gpu": 99})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"temperature": 0.0}, "temperature: 0 is not possible; choose a number that is above 0"),
        ({"top_p": 1.5}, "top_p: 1.5 is not possible; choose a number that is above 0 and at most 1"),
        ({"max_new_tokens": 0}, "max_new_tokens: 0 is not possible; choose a number that is at least 1"),
        ({"max_new_tokens": 500}, "max_new_tokens 500 leaves no room in 160 tokens"),
        ({"max_context": 10}, "max_context 10 leaves no room"),
        ({"num_beams": 2, "do_sample": True}, "choose one of them"),
        ({"dtype": "int4"}, "invalid choice: 'int4'"),
        ({"prompt_format": "blenderbot"}, "invalid choice: 'blenderbot'"),
        ({"topp": 0.5}, "no option called topp"),
        ({"device_map": "everywhere"}, "invalid choice: 'everywhere'"),
        ({"hf_model": ""}, "hf_model is missing"),
    ],
)
def test_wrong_options_are_told_before_a_study(options: dict[str, Any], said: str) -> None:
    """Guards every option against a value that would be ignored, or fail at the first message."""
    assert said in refused(folder_of("gpt2"), **options)


def test_what_is_missing_in_a_folder_is_named(copied: Path, tmp_path: Path) -> None:
    """Guards half-copied models: each part that can be missing has its sentence."""
    assert "does not exist" in refused(tmp_path / "nowhere")
    assert "has no config.json" in refused(tmp_path)
    for file in (*copied.glob("*token*"), *copied.glob("vocab*")):
        file.rename(tmp_path / file.name)
    assert "has no tokenizer; copy tokenizer.json" in refused(copied)
    for file in (*tmp_path.glob("*token*"), *tmp_path.glob("vocab*")):
        file.rename(copied / file.name)
    weights = copied / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(b"not weights")
    assert "cannot be loaded" in refused(copied)
    weights.write_bytes(whole)
    assert load_agent(spec_of(copied, "gpt2"))
    weights.unlink()
    assert "has no weights" in refused(copied)


def test_a_folder_whose_tokenizer_was_left_behind(copied: Path) -> None:
    """Guards against the empty tokenizer that transformers 5 makes for some architectures: all words would be one."""
    for file in (*copied.glob("*token*"), *copied.glob("vocab*"), *copied.glob("merges*")):
        file.unlink()
    assert "has no tokenizer; copy tokenizer.json" in refused(copied)


def changed(folder: Path, file: str = "config.json", **values: Any) -> Path:
    path = folder / file
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))
    return folder


def test_an_architecture_that_the_library_does_not_know_is_named(copied: Path) -> None:
    """Guards models that are newer than the installed transformers: what they are, and what to do."""
    said = refused(changed(copied, model_type="gpt99"))
    assert f"is of the architecture gpt99, which transformers {transformers.__version__} does not support" in said
    assert "install a newer transformers" in said


def test_code_that_comes_with_a_model_runs_only_where_it_is_allowed(copied: Path) -> None:
    """Guards against strangers' Python: its files are named, and the option that runs it."""
    classes = {"AutoConfig": "configuration_mine.MineConfig", "AutoModelForCausalLM": "modeling_mine.MineModel"}
    changed(copied, model_type="mine", auto_map=classes)
    (copied / "configuration_mine.py").write_text(
        "import pathlib\nfrom transformers import GPT2Config\n\n\nclass MineConfig(GPT2Config):\n    model_type = 'mine'\n"
        f"    pathlib.Path({str(copied / 'ran')!r}).touch()\n"
    )
    (copied / "modeling_mine.py").write_text(
        "from transformers import GPT2LMHeadModel\n\nfrom .configuration_mine import MineConfig\n\n\n"
        "class MineModel(GPT2LMHeadModel):\n    config_class = MineConfig\n"
    )
    said = refused(copied)
    assert "runs Python code that comes with it (configuration_mine.py, modeling_mine.py)" in said
    assert "set trust_remote_code: true in the options of the zoo entry" in said
    assert not (copied / "ran").exists()
    agent = load_agent(spec_of(copied, "gpt2", trust_remote_code=True))
    assert type(agent.model).__name__ == "MineModel"
    assert texts(agent, [heard(agent, "Hi!")])[0]
    assert (copied / "ran").exists()


def test_a_tokenizers_own_code_is_refused_as_the_models_is(tmp_path: Path) -> None:
    """Guards the other door: the code of a tokenizer."""
    copied = Path(shutil.copytree(folder_of("llama"), tmp_path / "llama"))
    changed(copied, "tokenizer_config.json", tokenizer_class="Mine", auto_map={"AutoTokenizer": ["mine.Mine", None]})
    assert "runs Python code that comes with it (mine.py)" in refused(copied)


@pytest.mark.parametrize(
    ("package", "quantised"),
    [
        ("bitsandbytes", {"quant_method": "bitsandbytes", "load_in_4bit": True}),
        ("optimum", {"quant_method": "gptq", "bits": 4, "group_size": 32}),
        ("gptqmodel", {"quant_method": "awq", "bits": 4, "group_size": 32, "version": "gemm", "zero_point": True}),
    ],
)
def test_quantised_weights_name_the_package_that_reads_them(copied: Path, package: str, quantised: Any) -> None:
    """Guards downloaded GPTQ, AWQ and bitsandbytes models on a machine without their packages."""
    if not is_transformers_5():
        pytest.skip("ParlAI's pins have a transformers that says it in other words")
    if find_spec(package):
        pytest.skip(f"{package} is installed")
    said = refused(changed(copied, quantization_config=quantised))
    assert "needs a package that is not installed" in said
    assert f"pip install {package}" in said.replace("-U ", "")


@pytest.mark.parametrize("bits", [4, 8])
def test_quantised_weights_answer_where_their_package_is_installed(tmp_path: Path, bits: int) -> None:
    """Guards weights of bitsandbytes on a processor: read as they were saved, alone and in a batch."""
    pytest.importorskip("bitsandbytes")
    source, folder = tmp_path / "whole", tmp_path / "quantised"
    source.mkdir()
    save(source, "qwen3", hidden_size=128, intermediate_size=256, head_dim=64)
    shutil.copytree(source, folder)
    quantised = transformers.BitsAndBytesConfig(**{f"load_in_{bits}bit": True})
    model = transformers.AutoModelForCausalLM.from_pretrained(
        source, quantization_config=quantised, device_map={"": "cpu"}
    )
    model.save_pretrained(folder)
    agent = load_agent(spec_of(folder, "llama", dtype="auto"))
    assert type(agent.model.model.layers[0].mlp.up_proj).__name__ == f"Linear{bits}{'bitLt' if bits == 8 else 'bit'}"
    observations = [heard(agent, "Hi!"), heard(agent, "What do you like to eat in the evening?")]
    together = texts(agent, observations)
    assert all(together)
    assert together == [texts(agent, [one])[0] for one in observations]


def test_a_model_is_spread_over_the_devices_that_there_are(copied: Path) -> None:
    """Guards ``device_map``: on a machine without a GPU, all of it goes to the processor."""
    agent = load_agent(spec_of(copied, "gpt2", device_map="auto"))
    assert texts(agent, [heard(agent, "Hi!")]) == texts(agent_of("gpt2"), [heard(agent_of("gpt2"), "Hi!")])


def test_weights_that_would_be_random_are_refused(copied: Path) -> None:
    """Guards results: transformers fills in what is missing by chance, with no more than a warning."""
    from safetensors.torch import load_file, save_file

    weights = load_file(copied / "model.safetensors")
    removed = [name for name in weights if "h.1.attn" in name and name.endswith("weight")]
    save_file({k: v for k, v in weights.items() if k not in removed}, copied / "model.safetensors", {"format": "pt"})
    assert f"lacks {len(removed)} of its model's weights" in refused(copied)


@pytest.mark.parametrize(("kind", "other"), [("gpt2", SEQ2SEQ[0]), (SEQ2SEQ[0], "gpt2")])
def test_a_model_of_the_other_kind_names_the_agent_for_it(kind: str, other: str) -> None:
    """Guards BART as a causal model, which transformers loads without its encoder."""
    right = "parlai_humaneval/seq2seq_lm" if kind in SEQ2SEQ else "parlai_humaneval/causal_lm"
    assert f"use the agent {right} for it" in refused(folder_of(kind), other)


def test_a_name_that_cannot_be_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards machines without internet: the name, and how to bring the model there by hand."""
    for offline in ("huggingface_hub.constants.HF_HUB_OFFLINE", "transformers.utils.hub._is_offline_mode"):
        monkeypatch.setattr(offline, True, raising=False)
    said = refused("nobody/no-such-model")
    assert "nobody/no-such-model is not on this machine and cannot be fetched" in said
    command = re.search(r"`(\S+) download nobody/no-such-model --local-dir FOLDER`", said)
    assert command
    assert Path(sysconfig.get_path("scripts"), command[1]).exists(), "the hub's program has had two names"


def test_a_gated_model_says_whose_terms_to_accept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards Llama and its like: the person has to go to a page and log in."""

    def refuse(*arguments: Any, **options: Any) -> None:
        raise OSError("You are trying to access a gated repo.")

    monkeypatch.setattr("transformers.AutoConfig.from_pretrained", refuse)
    assert "accept its terms on https://huggingface.co/makers/model" in refused("makers/model")


def test_too_little_memory_is_told_with_both_figures(monkeypatch: pytest.MonkeyPatch, copied: Path) -> None:
    """Guards against the system's killer, before loading; and against torch's own words, in the middle of it."""
    size = (copied / "model.safetensors").stat().st_size
    monkeypatch.setattr(refusals, "free_bytes", lambda device: size - 1)
    assert "does not fit into memory: its files have 0.0 GB, and 0.0 GB are free on cpu" in refused(copied)
    monkeypatch.setattr(refusals, "free_bytes", lambda device: size + 1)
    assert load_pretrained(str(copied), "causal").context == 160

    for words in ("not enough memory", "can't allocate memory: you tried to allocate 9 bytes"):  # Windows, Linux

        def fail(*arguments: Any, words: str = words, **options: Any) -> None:
            raise RuntimeError(f"[enforce fail at alloc_cpu.cpp:83] DefaultCPUAllocator: {words}")

        monkeypatch.setattr(hugging_face, "_load_weights", fail)
        assert "does not fit into memory" in refused(copied)
