"""ParlAI's presets of options, which its wheel leaves out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import nltk
import pytest
from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser
from parlai.opt_presets.docs import PRESET_DESCRIPTIONS

from parlai_humaneval.models.pool.loading import parlai_opt
from parlai_humaneval.models.zoo.entries import ModelSpec, load_zoo
from parlai_humaneval.models.zoo.presets import FOLDER, preset_files, preset_names, with_preset_files

LEFT_OUT = {"gen/opt_bb3", "gen/opt_pt"}
"""For models of 175 billion weights, which ParlAI's wheel cannot run."""


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
    settings = Opt.load_init(preset_files(name))
    given = {"model": settings.get("model", "transformer/generator")}
    if "dict_file" in settings:
        given["dict_file"] = "none"  # parsing would download it
    opt = ParlaiParser(True, True).parse_kwargs(init_opt=preset_files(name), **given)
    assert {key: opt[key] for key in settings if key not in given} == {
        key: value for key, value in settings.items() if key not in given
    }


def test_blenderbots_preset_is_that_of_the_zoo() -> None:
    """Guards Roller et al.'s settings, which stand in two places."""
    settings = Opt.load_init(preset_files("gen/blenderbot"))
    zoo = load_zoo()["blender_3B"].options
    assert settings == {key: zoo[key] for key in settings}
    assert set(zoo) - set(settings) == {"model", "model_file", "skip_generation"}


def test_words_of_a_command_line_are_told_apart() -> None:
    """Guards all spellings of the option, lists, and that nothing else is touched."""
    file, other = str(FOLDER / "gen/blenderbot.opt"), str(FOLDER / "arch/bart_large.opt")
    assert with_preset_files(["-o", "gen/blenderbot", "-m", "gen/blenderbot"]) == ["-o", file, "-m", "gen/blenderbot"]
    assert with_preset_files(["--init-opt=gen/blenderbot"]) == ["--init-opt", file]
    lists = ["--init_opt", "gen/blenderbot,mine.opt,arch/bart_large"]
    assert with_preset_files(lists) == ["--init_opt", f"{file},mine.opt,{other}"]
    unknown = ["-o", "gen/blenderbo", "--beam-size=3", "-o"]
    assert with_preset_files(unknown) == unknown


def test_the_users_own_preset_wins(tmp_path: Path) -> None:
    """Guards ParlAI's custom: ~/.parlai/opt_presets goes before what is packaged."""
    own = tmp_path / ".parlai/opt_presets/gen/meena.opt"
    own.parent.mkdir(parents=True)
    own.write_text(json.dumps({"topk": 7}), encoding="utf-8")
    assert preset_files("gen/meena") == "gen/meena"
    assert Opt.load_init(preset_files("gen/meena,gen/blenderbot"))["topk"] == 7


@pytest.mark.parametrize(
    "words", [["-o", "gen/blenderbot"], ["--init-opt=gen/blenderbot"], ["--init_opt", "gen/blenderbot"]]
)
def test_parlais_parser_reads_every_spelling(words: list[str]) -> None:
    """Guards the way through ParlAI, which rewrites the underscores of words with “=”, those of our path as well."""
    opt = ParlaiParser(True, True).parse_args(["-m", "transformer/generator", *with_preset_files(words)])
    assert (opt["inference"], opt["beam_size"]) == ("beam", 10)


def test_an_entry_of_the_zoo_takes_a_preset_and_wins_over_it() -> None:
    """Guards `init_opt` in a zoo file: the preset's beams are the model's, the entry's own minimum stays."""
    options = {"model": "transformer/generator", "init_opt": "gen/blenderbot", "beam_min_length": 1}
    opt = parlai_opt(ModelSpec(name="mine", options=options))
    assert (opt["inference"], opt["beam_size"], opt["beam_min_length"]) == ("beam", 10, 1)


def test_the_command_finds_a_preset(tmp_path: Path) -> None:
    """Guards `parlai-humaneval parlai … -o gen/meena` as a user types it; plain ParlAI ends with an error there."""
    own, report = tmp_path / "dialogue.txt", tmp_path / "report.json"
    own.write_text("text:Hi!\tlabels:Hello.\tepisode_done:True\n", encoding="utf-8")
    command = (
        str(Path(sys.executable).parent / "parlai-humaneval"), "parlai", "eval_model", "-m", "transformer/generator",
        "-t", "fromfile:parlaiformat", "--fromfile-datapath", str(own), "--embedding-size", "8", "--n-heads", "1",
        "--ffn-size", "8", "--n-layers", "1", "--no-cuda", "--skip-generation", "true", "-o", "gen/meena",
        "--report-filename", str(report),
    )  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert report.exists(), done.stdout[-2000:] + done.stderr[-2000:]
    opt = json.loads(report.read_text(encoding="utf-8"))["opt"]
    assert (opt["inference"], opt["topk"], opt["beam_size"]) == ("topk", 40, 20)
