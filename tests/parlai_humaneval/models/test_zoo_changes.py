"""Options that a server's refusal asks for, written into a researcher's own zoo file, and nothing else of it touched."""

from __future__ import annotations

import json
import os
import pty
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from faulty_server import FaultyServer
from test_refusals import error, refuses
from warm_python import WarmPython

from parlai_humaneval.cli.models import check
from parlai_humaneval.models.backends.server_refusals import Mend, file_of, write_option
from parlai_humaneval.models.zoo.entries import ZooError, load_zoo, zoo_dir

SEED = Mend("send_seed", False)
BLOCK = """\
# Models of the study
models:
  other: {options: {model: parlai_humaneval/eliza}}

  mine:   # the one that counts
    options:
      # where it is
      model: "parlai_humaneval.agents.chat_completions:ChatCompletionsAgent"
      base_url: http://localhost:1/v1   # of the lab
      served_model: 'm'
      temperature: 0.7  # warm

    description: A model.
  last: {extends: other}
"""


def written(tmp_path: Path, text: str, mend: Mend = SEED) -> str:
    """The text of a file after the option was written into the entry `mine`."""
    file = tmp_path / "zoo.yaml"
    file.write_bytes(text.encode())
    write_option(file, "mine", mend)
    return file.read_bytes().decode()


@pytest.mark.parametrize(
    ("text", "mend", "was", "becomes"),
    [
        (BLOCK, SEED, "# warm\n", "# warm\n      send_seed: false\n"),
        (BLOCK, Mend("temperature"), "0.7  # warm", "null  # warm"),
        (BLOCK, Mend("served_model", "a b: c"), "'m'", "'a b: c'"),
        (BLOCK.replace("\n", "\r\n"), SEED, "# warm\r\n", "# warm\r\n      send_seed: false\r\n"),
        ("models:\n  mine: {options: {model: x, served_model: m}}", SEED, "m}}", "m, send_seed: false}}"),
        ("models:\n  mine: {options: {model: x, stop: [a, b]}}", Mend("stop"), "[a, b]", "null"),
        ("models:\n  mine: {options: {}}", SEED, "{}", "{send_seed: false}"),
        ("models:\n  mine:\n    extends: other", SEED, "other", "other\n    options: {send_seed: false}\n"),
        ("models:\n  mine: {extends: other}\n", SEED, "other", "other, options: {send_seed: false}"),
        (
            "models:\n  mine:\n    options:\n      stop: # why\n      - a\n      - b\n      # after\n    size: any\n",
            Mend("stop"), " # why\n      - a\n      - b", " null # why",
        ),
        (
            "models:\n  mine:\n    options:\n      system_prompt: |\n        Be kind.\n\n        Be short.\n\n\n  b: {}\n",
            SEED, "Be short.\n", "Be short.\n      send_seed: false\n",
        ),
        ("models:\n  mine:\n    options:\n      model: x", SEED, "x", "x\n      send_seed: false\n"),
        ("\ufeffmodels: {mine: {options: {model: ü}}}", SEED, "ü", "ü, send_seed: false"),
    ],
)  # fmt: skip
def test_only_the_option_is_written(tmp_path: Path, text: str, mend: Mend, was: str, becomes: str) -> None:
    """Guards comments, order, spelling and line ends of somebody's file, in every style of YAML."""
    text_after = text.replace(was, becomes, 1)
    assert yaml.safe_load(text_after)["models"]["mine"]["options"][mend.option] == mend.value
    assert written(tmp_path, text, mend) == text_after


@pytest.mark.parametrize(
    "text",
    [
        "base: &base {model: x}\nmodels:\n  mine: {options: *base}\n  other: {options: *base}\n",
        "models:\n  other: &other {options: {model: x}}\n  mine: *other\n",
        "models:\n  mine: {extends: other, options: }\n",
    ],
)
def test_what_other_models_share_is_left_to_people(tmp_path: Path, text: str) -> None:
    """Guards models that have the same mapping by an alias, and files that nothing is known to do with."""
    with pytest.raises(ZooError, match="write it yourself"):
        written(tmp_path, text)
    assert (tmp_path / "zoo.yaml").read_text() == text


def test_a_merged_mapping_gets_the_option_beside_it(tmp_path: Path) -> None:
    """Guards `<<`: the option stands with this model, and not with all that share the rest."""
    text = "base: &base {model: x}\nmodels:\n  mine:\n    options:\n      <<: *base\n      served_model: m\n"
    text += "  b: {options: *base}\n"
    after = yaml.safe_load(written(tmp_path, text))["models"]
    assert after == {
        "mine": {"options": {"model": "x", "served_model": "m", "send_seed": False}},
        "b": {"options": {"model": "x"}},
    }


def test_links_and_modes_stay(tmp_path: Path) -> None:
    """Guards a file that is kept elsewhere and linked, and one that a group may read."""
    kept, link = tmp_path / "kept.yaml", tmp_path / "zoo.yaml"
    kept.write_text(BLOCK)
    kept.chmod(0o664)
    link.symlink_to(kept)
    write_option(link, "mine", SEED)
    assert link.is_symlink()
    assert "send_seed: false" in kept.read_text()
    assert kept.stat().st_mode & 0o777 == 0o664
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept.yaml", "zoo.yaml"]


def test_an_option_that_is_null_is_left_out(tmp_path: Path) -> None:
    """Guards the way to take away an option of the model that is extended."""
    file = tmp_path / "zoo.yaml"
    file.write_text("models:\n  mine: {extends: local_vllm, options: {temperature: null, top_p: 0.5}}\n")
    options = load_zoo(more=[file])["mine"].options
    assert "temperature" not in options
    assert (options["top_p"], options["max_tokens"]) == (0.5, 128)
    assert file_of("mine", [str(file)]) == file
    assert file_of("local_vllm", [str(file)]) is None


@pytest.fixture
def picky(server: FaultyServer, tmp_path: Path) -> Path:
    """A zoo file of a model whose server refuses first the seed and then the temperature."""

    async def answer(request: Any, body: dict[str, Any]) -> Any:
        seed = error("Unrecognized request argument supplied: seed")
        warm = error("Unsupported value: 'temperature' does not support 0.7 with this model.")
        refuse = refuses(lambda body: "seed" not in body, 400, seed) if "seed" in body else None
        return await (refuse or refuses(lambda body: "temperature" not in body, 400, warm))(request, body)

    server.otherwise = answer
    file = tmp_path / "zoo.yaml"
    text = BLOCK.replace("served_model: 'm'", "served_model: 'm'\n      api_key_env: ''\n      request_retries: 0")
    file.write_text(text.replace("http://localhost:1/v1", server.base_url))
    return file


def checked(file: Path, *more: str) -> Result:
    return CliRunner().invoke(check, ["mine", "--load", "--zoo", str(file), *more])


def test_fix_writes_what_is_asked_for_until_the_model_answers(picky: Path) -> None:
    """Guards `--fix`: one option after the other, each told, and the exit status is that of the mended model."""
    result = checked(picky, "--fix")
    assert result.exit_code == 0, result.output
    assert "answers “Hi!” with: Fine." in result.output
    for option in ("send_seed: false", "temperature: null"):
        assert f"Wrote `{option}` to the options of mine in {picky}. Asking the model again." in result.output
        assert option in picky.read_text()
    assert "# of the lab" in picky.read_text()


def test_nothing_is_written_unless_it_is_wanted(picky: Path) -> None:
    """Guards the file against a check in a script: the option is named, and in the JSON."""
    before = picky.read_text()
    told = checked(picky)
    assert told.exit_code == 1
    assert "write `send_seed: false` in the options of its zoo entry" in told.output
    (found,) = json.loads(checked(picky, "--json").stdout)
    assert (found["ok"], found["mends"]) == (False, [{"option": "send_seed", "value": False}])
    assert picky.read_text() == before


def test_fix_in_json_says_what_was_written(picky: Path) -> None:
    """Guards scripts that mend and go on."""
    output = checked(picky, "--json", "--fix").output
    (found,) = json.loads(output[output.index("[\n") :])  # what was written is told on the other stream, or before it
    assert (found["ok"], found["reply"]) == (True, "Fine.")
    assert found["fixed"] == ["send_seed: false", "temperature: null"]


def test_fix_wants_a_server_that_is_asked() -> None:
    """Guards a wrong use of the option."""
    result = CliRunner().invoke(check, ["eliza", "--fix"])
    assert (result.exit_code, "--fix needs --load" in result.output) == (2, True)


def test_an_entry_of_the_package_is_not_changed(
    server: FaultyServer, picky: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards the packaged zoo: what to write into a file of one's own is told."""
    monkeypatch.setenv("OPENAI_API_KEY", "none-is-needed")
    packaged = zoo_dir() / "endpoints.yaml"
    before = packaged.read_text()
    local = load_zoo()["local_vllm"]
    served = local.model_copy(update={"options": {**local.options, "base_url": server.base_url}})
    monkeypatch.setattr("parlai_humaneval.cli.models.load_zoo", lambda more: {"local_vllm": served})
    result = CliRunner().invoke(check, ["local_vllm", "--load", "--fix", "--zoo", str(picky)])
    assert result.exit_code == 1
    assert (
        "Add this to the models in your own file: local_vllm_here: {extends: local_vllm, options: {send_seed: false}}"
        in result.output
    )
    assert packaged.read_text() == before


@pytest.mark.parametrize(("typed", "writes"), [("y\ny\n", True), ("n\n", False)])
def test_on_a_terminal_somebody_is_asked(
    picky: Path, typed: str, writes: bool, tmp_path: Path, warm: WarmPython
) -> None:
    """Guards the offer, by the real command on a real terminal, and that no is no."""
    leader, follower = pty.openpty()
    os.write(leader, typed.encode())
    said, program = tmp_path / "said", str(Path(sys.executable).with_name("parlai-humaneval"))
    command = [program, "models", "check", "mine", "--load", "--zoo", str(picky)]
    streams = (os.ttyname(follower), said, said)
    status = warm.wait(warm.start(*command, streams=streams, env={**os.environ, "COLUMNS": "200"}))
    os.close(leader)
    os.close(follower)
    output = said.read_text(encoding="utf-8")
    assert f"Write `send_seed: false` into {picky}? [y/N]" in output
    assert ("send_seed" in picky.read_text()) is writes
    assert status == (0 if writes else 1), output
