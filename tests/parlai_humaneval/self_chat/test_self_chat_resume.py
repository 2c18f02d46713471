"""An interrupted run is gone on with: no dialogue is lost, none is made twice, and nothing of another kind is mixed in."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from make_talkers import Talkers, chancy, contents, counting, dialogues
from warm_python import WarmPython

from parlai_humaneval.self_chat import SelfChatError, SelfChatSettings, generate
from parlai_humaneval.self_chat.files import locked

SETTINGS = SelfChatSettings(num_dialogues=6, exchanges=2, start="openers")


@pytest.fixture
def whole(talkers: Talkers, tmp_path: Path) -> Path:
    """A finished folder."""
    generate(talkers.specs(a=chancy, b=chancy), [("a", "b")], SETTINGS, tmp_path / "whole")
    return tmp_path / "whole"


def test_a_file_cut_off_anywhere_is_completed_to_the_same_file(talkers: Talkers, whole: Path, tmp_path: Path) -> None:
    """Guards kill -9 while a line is written: cut off after any share of its bytes, the file ends up as it would have."""
    text = (whole / "a--b.jsonl").read_bytes()
    specs = talkers.specs(a=chancy, b=chancy)
    cuts = [0, 1, *range(97, len(text), len(text) // 12), text.index(b"\n"), text.index(b"\n") + 1, len(text) - 1]
    for cut in cuts:
        folder = tmp_path / f"cut-{cut}"
        shutil.copytree(whole, folder)
        (folder / "a--b.jsonl").write_bytes(text[:cut])
        (file,) = generate(specs, [("a", "b")], SETTINGS, folder, batch_size=4)
        assert file.path.read_bytes() == text
        assert (file.dialogues, file.generated) == (6, 6 - text[:cut].count(b"\n"))


def test_dialogues_that_lack_in_the_middle_are_made(talkers: Talkers, whole: Path) -> None:
    """Guards files whose dialogues were finished out of order before the stop."""
    path = whole / "a--b.jsonl"
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    path.write_text(lines[5] + lines[1], encoding="utf-8")
    (file,) = generate(talkers.specs(a=chancy, b=chancy), [("a", "b")], SETTINGS, whole)
    assert file.generated == 4
    assert path.read_text(encoding="utf-8") == text


def test_a_finished_folder_costs_no_model(talkers: Talkers, whole: Path) -> None:
    """Guards a launch that finds its self-chats made: no model is loaded, nothing is written, all is counted."""
    before = {path.name: path.read_bytes() for path in whole.iterdir()}
    talkers.loaded.clear()
    (file,) = generate(talkers.specs(a=chancy, b=chancy), [("a", "b")], SETTINGS, whole)
    assert (file.dialogues, file.generated, file.replies) == (6, 0, 18)
    assert talkers.loaded == []
    assert {path.name: path.read_bytes() for path in whole.iterdir()} == before


def test_more_are_added_and_fewer_take_nothing_away(talkers: Talkers, whole: Path) -> None:
    """Guards a study that grows, and a smaller number typed by mistake."""
    specs, text = talkers.specs(a=chancy, b=chancy), contents(whole)["a--b.jsonl"]
    (more,) = generate(specs, [("a", "b")], SETTINGS.model_copy(update={"num_dialogues": 9}), whole)
    assert (more.dialogues, more.generated) == (9, 3)
    assert contents(whole)["a--b.jsonl"].startswith(text)
    (fewer,) = generate(specs, [("a", "b")], SETTINGS, whole)
    assert (fewer.dialogues, fewer.generated) == (9, 0)
    metadata = json.loads((whole / "a--b.metadata").read_text(encoding="utf-8"))
    assert metadata["opt"]["num_dialogues"] == 9
    assert len(metadata["runs"]) == 2


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"exchanges": 3}, "exchanges: 2 there, 3 now"),
        ({"seed": 1}, "seed: 0 there, 1 now"),
        ({"start": "hi"}, 'start: "openers" there, "hi" now'),
    ],
)
def test_other_settings_are_refused_with_what_differs(
    talkers: Talkers, whole: Path, change: dict[str, Any], told: str
) -> None:
    """Guards a folder against dialogues of two kinds; and nothing of it is touched when that is told."""
    before = contents(whole)
    with pytest.raises(SelfChatError, match="--force") as error:
        generate(talkers.specs(a=chancy, b=chancy), [("a", "b")], SETTINGS.model_copy(update=change), whole)
    assert told in str(error.value)
    assert contents(whole) == before


def test_a_models_other_settings_are_refused(talkers: Talkers, whole: Path) -> None:
    """Guards a name whose model has changed in the zoo."""
    first, second = talkers.specs(a=chancy, b=chancy)
    changed = second.model_copy(update={"options": {**second.options, "beam_size": 10}})
    with pytest.raises(SelfChatError, match=r"models\.b\.beam_size: nothing there, 10 now"):
        generate([first, changed], [("a", "b")], SETTINGS, whole)


def test_a_changed_file_of_openers_is_noticed(talkers: Talkers, tmp_path: Path) -> None:
    """Guards beginnings that were edited meanwhile; the same file under another path is the same."""
    openers, moved = tmp_path / "openers.txt", tmp_path / "moved.txt"
    openers.write_text("one\ntwo\n", encoding="utf-8")
    specs = talkers.specs(a=counting)
    settings = SETTINGS.model_copy(update={"start_file": str(openers)})
    generate(specs, [("a", "a")], settings, tmp_path / "out")
    openers.rename(moved)
    (file,) = generate(specs, [("a", "a")], settings.model_copy(update={"start_file": str(moved)}), tmp_path / "out")
    assert file.generated == 0
    openers.write_text("one\nthree\n", encoding="utf-8")
    with pytest.raises(SelfChatError, match="start_file_sha256"):
        generate(specs, [("a", "a")], settings, tmp_path / "out")


def test_force_begins_anew(talkers: Talkers, whole: Path) -> None:
    """Guards --force: the old dialogues and how they were made are gone, others in the folder stay."""
    specs = talkers.specs(a=chancy, b=chancy)
    generate(specs, [("a", "a")], SETTINGS, whole)
    alone = contents(whole)["a.jsonl"]
    other = SETTINGS.model_copy(update={"exchanges": 3, "num_dialogues": 2})
    (file,) = generate(specs, [("a", "b")], other, whole, force=True)
    assert (file.dialogues, file.replies) == (2, 10)
    assert contents(whole)["a.jsonl"] == alone
    metadata = json.loads((whole / "a--b.metadata").read_text(encoding="utf-8"))
    assert metadata["opt"]["exchanges"] == 3


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda folder: (folder / "a--b.metadata").unlink(), "its settings are unknown"),
        (lambda folder: (folder / "a--b.metadata").write_text("{"), "its settings are unknown"),
        (lambda folder: _prepend(folder, "not a dialogue\n"), "line 1: is not a dialogue of this file"),
        (lambda folder: _prepend(folder, contents(folder)["a--b.jsonl"]), "holds a dialogue twice"),
    ],
)
def test_a_file_that_is_not_ours_is_told(talkers: Talkers, whole: Path, spoil: Any, told: str) -> None:
    """Guards against adding to whatever stands there."""
    spoil(whole)
    before = contents(whole)
    with pytest.raises(SelfChatError, match=told):
        generate(talkers.specs(a=chancy, b=chancy), [("a", "b")], SETTINGS, whole)
    assert contents(whole) == before


def _prepend(folder: Path, text: str) -> None:
    path = folder / "a--b.jsonl"
    path.write_text(text + path.read_text(encoding="utf-8"), encoding="utf-8")


def test_two_runs_do_not_meet_in_a_folder(talkers: Talkers, tmp_path: Path) -> None:
    """Guards against two runs that each make what the other one makes."""
    with locked(tmp_path / "out"), pytest.raises(SelfChatError, match="another run is writing here"):
        generate(talkers.specs(a=counting), [("a", "a")], SETTINGS, tmp_path / "out")


def test_a_folder_that_is_a_file_is_told(talkers: Talkers, tmp_path: Path) -> None:
    """Guards against a traceback for a mistyped folder."""
    (tmp_path / "out").write_text("")
    with pytest.raises(SelfChatError, match=str(tmp_path / "out")):
        generate(talkers.specs(a=counting), [("a", "a")], SETTINGS, tmp_path / "out")


MANY = 150
"""Dialogues that take a while, so that a run can be stopped in their middle."""


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_real_run_that_is_killed_goes_on(tmp_path: Path, how: signal.Signals, warm: WarmPython) -> None:
    """Guards the whole way: the command is stopped in the middle by Ctrl-C or kill -9, and repeated."""
    command = [str(Path(sys.executable).with_name("parlai-humaneval")), "self-chat", "--models", "retrieval"]
    command += ["--num-dialogues", str(MANY), "--start", "openers", "--batch-size", "4", "--json", "--out"]
    path = tmp_path / "out" / "retrieval.jsonl"
    said, errors = tmp_path / "said", tmp_path / "errors"
    running = warm.start(*command, str(tmp_path / "out"), streams=(os.devnull, said, errors))
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (path.exists() and path.stat().st_size):
        time.sleep(0.01)
    os.kill(running, how)
    status = warm.wait(running)
    there = path.read_bytes().count(b"\n")
    assert 0 < there < MANY, "it was to be stopped in the middle"
    if how == signal.SIGINT:
        assert status == 130
        assert "Complete dialogues are kept" in errors.read_text()
        assert "Traceback" not in errors.read_text()
    again = warm.run(*command, str(tmp_path / "out"))
    assert again.returncode == 0, again.stderr
    (counted,) = json.loads(again.stdout)["files"]
    assert (counted["dialogues"], counted["generated"]) == (MANY, MANY - there)
    assert [dialogue["number"] for dialogue in dialogues(path)] == list(range(MANY))
