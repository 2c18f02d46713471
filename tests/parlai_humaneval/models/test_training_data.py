"""Dialogues of any format become what ParlAI trains on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parlai_humaneval._util.data_files import DataError
from parlai_humaneval.dialogues.files import load_dialogues
from parlai_humaneval.models.baselines.training import read_folds, write_folds

PERSONAS = ["your persona: i have a dog.", "partner's persona: i am a cook.", "we talk about pets"]


def written(path: Path, *turns: list[str], **more: object) -> Path:
    lines = [json.dumps({"dialogue_id": f"{path.stem}-{n}", "turns": part, **more}) for n, part in enumerate(turns)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_each_side_lives_the_dialogue_with_its_own_persona(tmp_path: Path) -> None:
    """Guards who is who: the speaker of the second line has “your persona”, and for the other the two swap."""
    written(
        tmp_path / "own_train.jsonl",
        ["Hi!", "Hello|there", "What\tnow?", "A walk.\nOr tea."],
        ["a", "b"],
        context=PERSONAS,
    )
    write_folds(tmp_path / "out" / "d", read_folds(str(tmp_path / "own_train.jsonl")))
    lines = Path(f"{tmp_path}/out/d_valid.txt").read_text(encoding="utf-8").splitlines()  # the first one is held out
    assert lines == [
        "text:your persona: i have a dog.\\npartner's persona: i am a cook.\\nwe talk about pets\\nHi!\tlabels:Hello,there",
        "text:What now?\tlabels:A walk. Or tea.\tepisode_done:True",
        "text:partner's persona: i have a dog.\\nyour persona: i am a cook.\\nwe talk about pets\\nHello,there\tlabels:"
        "What now?\tepisode_done:True",
    ]


@given(st.lists(st.sampled_from(["Hi!", "How are you?", "Fine, thanks.", "a|b", "It's 5\n6"]), min_size=2, max_size=9))
def test_what_is_written_can_be_read_as_dialogues_again(
    tmp_path_factory: pytest.TempPathFactory, turns: list[str]
) -> None:
    """Guards ParlAI's text format: an episode of each side, with as many exchanges as that side took part in."""
    folder = tmp_path_factory.mktemp("folds")
    folds = read_folds(str(written(folder / "all.jsonl", ["x", "y"], turns)))
    write_folds(folder / "d", folds)
    again = load_dialogues(folder / "d_train.txt")
    assert [dialogue.exchanges for dialogue in again] == [
        count for count in (len(turns) // 2, (len(turns) - 1) // 2) if count
    ]


def test_folds_of_their_own_files_and_formats(tmp_path: Path) -> None:
    """Guards a prefix: three files of three formats; without a test file, validation serves again."""
    written(tmp_path / "my_train.jsonl", ["a", "b"], ["c", "d"])
    (tmp_path / "my_valid.txt").write_text("1 Hi\tHello\n2 Bye\tSo long\n", encoding="utf-8")
    folds = read_folds(str(tmp_path / "my"))
    assert [len(folds[fold]) for fold in ("train", "valid", "test")] == [2, 1, 1]
    (tmp_path / "my_test.txt").write_text("text:x\tlabels:y\tepisode_done:True\ntext:z\tlabels:w\tepisode_done:True\n")
    assert len(read_folds(str(tmp_path / "my"))["test"]) == 2


def test_what_is_wrong_with_a_prefix_is_said(tmp_path: Path) -> None:
    """Guards the three mistakes: no file, two for one fold, and a single dialogue that cannot be learned and held out."""
    with pytest.raises(DataError, match="there is no such file"):
        read_folds(str(tmp_path / "my"))
    written(tmp_path / "my_train.jsonl", ["a", "b"])
    with pytest.raises(DataError, match="one dialogue is not enough"):
        read_folds(str(tmp_path / "my"))
    written(tmp_path / "my_train.json", ["a", "b"])
    with pytest.raises(DataError, match=r"expected one file, found my_train\.json, my_train\.jsonl"):
        read_folds(str(tmp_path / "my"))
