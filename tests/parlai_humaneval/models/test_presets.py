"""ParlAI's presets of options, which its wheel leaves out."""

from __future__ import annotations

import json
from pathlib import Path

import nltk
import pytest
from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser
from parlai.opt_presets.docs import PRESET_DESCRIPTIONS

from parlai_humaneval.models.pool.loading import parlai_opt
from parlai_humaneval.models.zoo.entries import ModelSpec, load_zoo
from parlai_humaneval.models.zoo.files import preset_names

LEFT_OUT = {"gen/opt_bb3", "gen/opt_pt"}
"""For models of 175 billion parameters, which ParlAI's wheel cannot run."""


@pytest.fixture(autouse=True)
def own_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A user without presets of their own, and with NLTK's stop words, which BlenderBot 3's agent wants."""
    monkeypatch.setenv("HOME", str(tmp_path))
    words = tmp_path / "nltk/corpora/stopwords/english"
    words.parent.mkdir(parents=True)
    words.write_text("the\n", encoding="utf-8")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path / "nltk"), *nltk.data.path])


def test_all_that_parlai_documents_are_here() -> None:
    """Guards names in ParlAI's manuals; should a later ParlAI ship them, its own win."""
    assert set(preset_names()) == set(PRESET_DESCRIPTIONS) - LEFT_OUT | {"gen/seq2seq"}


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_holds_options_of_its_agent(name: str) -> None:
    """Guards each key and value with ParlAI's own parser, which refuses a key that the agent does not have."""
    settings = Opt.load_init(name)
    given = {"model": settings.get("model", "transformer/generator")}
    if "dict_file" in settings:
        given["dict_file"] = "none"  # parsing would download it
    opt = ParlaiParser(True, True).parse_kwargs(init_opt=name, **given)
    assert {key: opt[key] for key in settings if key not in given} == {
        key: value for key, value in settings.items() if key not in given
    }


def test_blenderbots_preset_is_that_of_the_zoo() -> None:
    """Guards Roller et al.'s settings, which stand in two places."""
    settings = Opt.load_init("gen/blenderbot")
    zoo = load_zoo()["blender_3B"].options
    assert settings == {key: zoo[key] for key in settings}
    assert set(zoo) - set(settings) == {"model", "model_file", "skip_generation"}


def test_lists_of_presets_and_names_that_there_are_not() -> None:
    """Guards that only what ParlAI does not find is looked for here, and that its own error stays, with a suggestion."""
    assert set(Opt.load_init("gen/meena,gen/blenderbot")) > set(Opt.load_init("gen/blenderbot"))
    with pytest.raises(FileNotFoundError, match=r"opt preset 'gen/blenderbo\.opt'.* Did you mean gen/blenderbot\?"):
        Opt.load_init("gen/blenderbo")


def test_an_option_that_an_agent_does_not_have(tmp_path: Path) -> None:
    """Guards presets of one's own: ParlAI's error names the option, and now also the one that may have been meant."""
    (tmp_path / "mine.opt").write_text('{"beam_sise": 3}', encoding="utf-8")
    with pytest.raises(RuntimeError, match=r"does not exist: beam_sise\. Did you mean beam_size"):
        ParlaiParser(True, True).parse_kwargs(model="transformer/generator", init_opt=str(tmp_path / "mine.opt"))


def test_the_users_own_preset_wins(tmp_path: Path) -> None:
    """Guards ParlAI's custom: ~/.parlai/opt_presets goes before what is packaged."""
    own = tmp_path / ".parlai/opt_presets/gen/meena.opt"
    own.parent.mkdir(parents=True)
    own.write_text(json.dumps({"topk": 7}), encoding="utf-8")
    assert Opt.load_init("gen/meena,gen/blenderbot")["topk"] == 7


@pytest.mark.parametrize(
    "words", [["-o", "gen/seeker_lm"], ["--init-opt=gen/seeker_lm"], ["--init_opt", "gen/seeker_lm"]]
)
def test_parlais_parser_reads_every_spelling(words: list[str]) -> None:
    """Guards the way through ParlAI, which makes hyphens of the underscores in words with “=”, those of a name as well."""
    known = set(Opt.load_init("gen/seeker_lm"))
    opt = ParlaiParser(True, True).parse_args(["--allow-missing-init-opts", "true", *words])
    assert known <= set(opt["override"])


def test_an_entry_of_the_zoo_takes_a_preset_and_wins_over_it() -> None:
    """Guards `init_opt` in a zoo file: the preset's beams are the model's, the entry's own minimum stays."""
    options = {"model": "transformer/generator", "init_opt": "gen/blenderbot", "beam_min_length": 1}
    opt = parlai_opt(ModelSpec(name="mine", options=options))
    assert (opt["inference"], opt["beam_size"], opt["beam_min_length"]) == ("beam", 10, 1)
