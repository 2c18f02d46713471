"""Zoo files: what is in ours, and what a wrong one is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from parlai_humaneval.models.zoo.entries import ModelSpec, ZooError, load_zoo, resolve, zoo_dir


def write(folder: Path, text: str, name: str = "zoo.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_the_packaged_zoo_has_the_promised_models() -> None:
    """Guards the names that presets and the README use."""
    names = set(load_zoo())
    assert {"eliza", "retrieval", "tiny_generator"} <= names
    assert {
        "blender_90M", "blender_400Mdistill", "blender_1B", "blender_3B", "blender_3B-M0", "blender_9B", "reddit_3B"
    } <= names  # fmt: skip


def test_blenderbot_speaks_with_the_papers_settings() -> None:
    """Guards Smith et al. 2022: beam 10, minimum 20, 3-gram blocking; M0 differs in the minimum only."""
    zoo = load_zoo()
    papers = {
        "inference": "beam", "beam_size": 10, "beam_min_length": 20, "beam_block_ngram": 3, "beam_context_block_ngram": 3,
        "beam_block_full_context": False, "skip_generation": False,
    }  # fmt: skip
    for name in (
        "blender_90M",
        "blender_400Mdistill",
        "blender_1B",
        "blender_3B",
        "blender_9B",
        "reddit_3B",
        "reddit_9B",
    ):
        options = dict(zoo[name].options)
        assert options.pop("model") == "transformer/generator"
        assert options.pop("model_file").startswith("zoo:blender/")
        assert options == papers
    assert zoo["blender_3B-M0"].options == {**zoo["blender_3B"].options, "beam_min_length": 0}
    assert zoo["blender_3B-M0"].needs == zoo["blender_3B"].needs


def test_dodecadialogue_speaks_with_the_settings_of_parlais_list() -> None:
    """Guards the three beams that differ: 3 and at least 10 tokens; empathetic 5 and 10; Twitter 10 and 20."""
    zoo = load_zoo()
    beams = {"all_tasks": (3, 10), "convai2": (3, 10), "empathetic_dialogues": (5, 10), "twitter": (10, 20)}
    for name, expected in beams.items():
        options = zoo[f"dodeca_{name}"].options
        assert (options["beam_size"], options["beam_min_length"]) == expected
        assert options["beam_block_ngram"] == options["beam_context_block_ngram"] == 3


def test_extends_merges_blocks_key_by_key(tmp_path: Path) -> None:
    """Guards a training on other data: one line, all other settings of the training stay."""
    own = write(
        tmp_path,
        """
        models:
          a: {options: {model: x}, running: {threads: 2, retries: 1}, training: {options: {task: t, n: 1}, takes: long}}
          b: {extends: a, running: {retries: 3}, training: {options: {task: u}}}
        """,
    )
    spec = load_zoo([own])["b"]
    assert spec.training is not None
    assert spec.training.model_dump() == {"options": {"task": "u", "n": 1}, "before": [], "takes": "long"}
    assert (spec.running.threads, spec.running.retries) == (2, 3)


def test_extends_reaches_other_files_and_texts_can_be_replaced(tmp_path: Path) -> None:
    """Guards a user's variant of a packaged model."""
    own = write(
        tmp_path,
        "models: {shy: {extends: blender_3B, options: {beam_size: 3}, description: Fewer beams.}}",
    )
    spec = load_zoo([*sorted(zoo_dir().glob("*.yaml")), own])["shy"]
    assert spec.options["beam_size"] == 3
    assert spec.options["beam_min_length"] == 20
    assert spec.description == "Fewer beams."
    assert spec.license


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "models: {a: {options: {model: x}, optins: 1}}",
            r"models\.a\.optins: unknown key\. Did you mean options\? Choose one of extends, options",
        ),
        (
            "models: {a: {options: {model: x}, sise: }}",
            r"models\.a\.sise: unknown key\. Did you mean size\?",
        ),
        ("models: {a: {extends: b, options: }}", r"models\.a\.options: .*dictionary.*got None"),
        ("modles: {}", r"models: .*[Ff]ield required"),
        ("modles: {}", r"modles: unknown key\. Did you mean models\? Choose one of models"),
        ("models: {a: {options: 3}}", r"models\.a\.options: .*dictionary.*got 3"),
        ("models: {a: {options: {model: x}, needs: a lot}}", r"models\.a\.needs: .*list.*'a lot'"),
        ("models: {a: 7}", r"models\.a: expected a mapping, got 7"),
        ("models: {a: {options: {beam_size: 3}}}", r"models\.a\.options: expected `model` .* or `model_file`"),
        (
            "models: {a: {options: {model: x}, running: {timeout: 3}}}",
            r"models\.a\.running\.timeout: unknown key\. Did you mean timeout_s\? Choose one of threads, max_batch",
        ),
        (
            "models: {a: {options: {model: x}, training: {option: {}}}}",
            r"models\.a\.training\.option: unknown key\. Did you mean options\? Choose one of options, before, takes",
        ),
        ("models: {a: {options: {model: x}, training: long}}", r"models\.a\.training: expected a mapping, got 'long'"),
        (
            "models: {a: {options: {model: x}, running: {retries: -1}}}",
            r"models\.a\.running\.retries: .*equal to 0, got -1",
        ),
        ("models: {a: {options: {model: x}, device: gpu}}", r"models\.a\.device: expected cpu, or cuda:0.*got 'gpu'"),
        ("models: {a: {options: {model: x}, origin: web}}", r"models\.a\.origin: .*'packaged', 'download'.*got 'web'"),
        ("models: {a: {options: {model: x}, memory_gb: much}}", r"models\.a\.memory_gb: .*number.*got 'much'"),
        ("models: {ab1: {options: {model: x}}, b: {extends: ab2}}", r"no model is called “ab2”\. Did you mean ab1\?"),
        ("models: {a: {extends: b}}", r"models\.a\.extends: no model is called “b”\. Did you mean a\?"),
        ("models: {a: {extends: b}, b: {extends: a}}", r"models\.a\.extends: forms a circle \(a → b → a\)"),
        ("models: [", "not YAML"),
        (
            "models: {a: {options: {model: x}}, a: {options: {model: y}}}",
            r"line 1: “a” appears twice, first in line 1; keep one of them",
        ),
        ("models: {a: {options: {model: x, model: y}}}", "“model” appears twice"),
        ("", "expected a mapping"),
    ],
)
def test_a_wrong_file_is_told_file_key_and_what_was_expected(tmp_path: Path, text: str, said: str) -> None:
    """Guards the one message a user sees when a zoo file has a mistake."""
    path = write(tmp_path, text)
    with pytest.raises(ZooError, match=said) as error:
        load_zoo([path])
    assert str(path) in str(error.value)


def test_a_key_laid_over_a_merged_one_stands_once(tmp_path: Path) -> None:
    """Guards YAML's own merging of mappings, in which a key is given anew on purpose."""
    path = write(
        tmp_path,
        """
models:
  a: {options: &most {model: x, beam_size: 3}}
  b: {options: &more {<<: *most, beam_size: 4}}
  c: {options: {<<: *more, beam_size: 5}}
""",
    )
    assert [spec.options["beam_size"] for spec in load_zoo([path]).values()] == [3, 4, 5]


def test_a_missing_file_and_a_name_given_twice_are_told(tmp_path: Path) -> None:
    """Guards names over several files: nobody's model silently hides another's."""
    with pytest.raises(ZooError, match="there is no file"):
        load_zoo([tmp_path / "none.yaml"])
    first = write(tmp_path, "models: {a: {options: {model: x}}}", "one.yaml")
    second = write(tmp_path, "models: {a: {options: {model: y}}}", "two.yaml")
    with pytest.raises(ZooError, match=r"two\.yaml: models\.a: this name is already taken by .*one\.yaml"):
        load_zoo([first, second])


def test_an_unknown_name_lists_near_matches() -> None:
    """Guards a typing mistake on the command line, and the terminal from the names of the whole zoo."""
    zoo = load_zoo()
    with pytest.raises(ZooError, match=r"no model is called “elisa”\. Did you mean eliza"):
        resolve(["eliza", "elisa"], zoo)
    with pytest.raises(ZooError, match=r"Did you mean only\?"):
        resolve(["zzzz"], {"only": ModelSpec(name="only", options={"model": "x"})})
    with pytest.raises(ZooError) as refused:
        resolve(["qqqqqqqq"], zoo)
    assert f"`parlai-humaneval models list` shows all {len(zoo)}; add 'zoo_files=[FILE]'" in str(refused.value)
    assert "eliza" not in str(refused.value)
    assert [spec.name for spec in resolve(["retrieval", "eliza"], zoo)] == ["retrieval", "eliza"]
