"""The demo: every technique from nothing to its report, and what it says at once where it cannot begin."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mephisto_tasks.storage.results import read_records, task_names
from parlai_humaneval._util import terminal as progress
from parlai_humaneval.cli import main
from parlai_humaneval.cli.errors import CommandError
from parlai_humaneval.dialogues import sources as samples
from parlai_humaneval.dialogues.sources import MODELS
from parlai_humaneval.techniques.registry import recorded_as, techniques

pytestmark = pytest.mark.usefixtures("signals_as_before")
SHORT = {
    "pw_turn": ["turns=2"],
    "sata": ["turns=2"],
    "single_model": ["turns=2"],
    "free_for_all": ["turns=1"],
    "direct_assessment": ["turns=1", "dialogues_per_group=1"],
    "self_chat": ["num_dialogues=2", "exchanges=2", "items_per_unit=1"],
    "spot_the_bot": ["segment_lengths=[2]", "exchanges=3", "judgements_per_item=1", "models=[eliza,dull]"],
}
"""Settings for a quick demo, where there are any."""


def demo(*arguments: str) -> tuple[int, str, str]:
    """Status, standard output and standard error."""
    done = CliRunner().invoke(main, ["demo", *arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.parametrize("task", sorted(techniques()))
def test_every_technique_can_be_tried_with_nothing_of_ones_own(task: str, tmp_path: Path) -> None:
    """Guards that each of them has models, dialogues and simulated raters that go with it, and ends in its report."""
    settings = [f"mephisto.blueprint.{setting}" for setting in SHORT.get(task, [])]
    where = ["--port", "0", "--data-dir", str(tmp_path)]
    status, printed, said = demo("--task", task, "--raters", "2", "--dialogues", "2", "--json", *where, *settings)
    assert status == 0, said
    assert json.loads(printed)["technique"] == recorded_as(task)
    assert said.startswith(f"Demo of {techniques()[task].title}: ")
    (name,) = task_names(tmp_path)
    records = read_records(tmp_path, name)
    assert {record.technique for record in records} == {recorded_as(task)}
    assert all(record.simulated for record in records)
    assert [record for record in records if record.status == "complete"]


def test_the_number_of_a_demo_leaves_the_pairs_of_a_file_together(tmp_path: Path) -> None:
    """Also where the file has fewer pairs of two models than that."""
    rows = []
    for number, models in enumerate([("a", "b"), ("a", "c"), ("b", "c")] * 2):
        sides = {f"model_{side}": model for side, model in zip("ab", models, strict=True)}
        said = [{"role": role, "content": f"{role} {number}"} for role in ("user", "assistant")]
        rows.append({"id": number, **sides, "conversation_a": said, "conversation_b": said})
    path = tmp_path / "pairs.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    given = ["--task", "pw_dialog", f"dialogues=[{path}]", "--raters", "2", "--dialogues", "4"]
    status, _, said_to_us = demo(
        *given, "--port", "0", "--data-dir", str(tmp_path), "items_per_unit=1", "golds_per_unit=0"
    )
    assert status == 0, said_to_us
    judged = [record.dialogues for record in read_records(tmp_path, task_names(tmp_path)[0]) if record.dialogues]
    shown = sorted("|".join(sorted(one.dialogue_id for one in both)) for both in judged)
    assert shown == [f"{number}-a|{number}-b" for number in range(6)]


def test_samples_are_of_the_packaged_models_and_read_as_they_were_written() -> None:
    """Enough for the first unit of a rater, who meets no dialogue twice."""
    chats = samples.with_a_model()
    assert [sum(list(chat.models) == [model] for chat in chats) for model in MODELS] == [6, 6]
    assert {chat.kind for chat in chats} == {"human_bot"}
    rated = samples.rated()
    assert len(rated) == 6
    for dialogue in rated:
        assert dialogue.rating is not None
        assert {turn.complete for turn in dialogue.rating.turns} == {True}
        assert {one.model for turn in dialogue.rating.turns for one in turn.candidates} == set(MODELS)
    assert any(turn.written for dialogue in rated if dialogue.rating for turn in dialogue.rating.turns)


def test_what_is_counted_is_a_line_now_and_then_and_each_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody looks on: at the beginning, after a while, and when all is done."""
    with progress.counting("Raters", 3, "chats") as count_to:
        count_to(1, 3)
    monkeypatch.setattr(progress, "LINE_S", 0.0)
    with progress.counting("Raters", 3, "chats") as count_to:
        count_to(2, 3)
        count_to(3, 3)
        count_to(3, 3)
    printed = capsys.readouterr()
    assert printed.err.splitlines() == [
        "Raters: 0 of 3 chats…",
        "Raters: 0 of 3 chats…",
        "Raters: 2 of 3 chats",
        "Raters: 3 of 3 chats",
    ]
    assert printed.out == ""


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--models", "elizza,retrieval"], "no model is called “elizza”. Did you mean eliza?"),
        (["--models", "tiny_generator,eliza"], "try: run `parlai-humaneval models train-tiny` once"),
        (["--task", "spot_the_bott"], "there is no technique 'spot_the_bott'. Did you mean spot_the_bot?"),
        (["--raters", "-2"], "--raters takes a whole number from 1 to 64, not -2"),
        (["--dialogues", "0"], "--dialogues takes a whole number from 1 up, not 0"),
    ],
)
def test_what_cannot_begin_is_told_before_anything_heavy_is_imported(
    arguments: list[str], error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards who mistyped a name, or names a model that is not trained yet, against waiting for libraries first."""
    monkeypatch.setenv("PARLAI_HUMANEVAL_HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "mephisto_tasks.launch", None)  # to import it would be an error now
    status, printed, said = demo(*arguments, "--port", "0", "--data-dir", str(tmp_path / "data"))
    assert status in (1, 2)
    assert printed == ""
    assert error in " ".join(said.split())
    assert said.count("error: ") == 1
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("demo --port PORT", "--port …"),
        ("demo port=PORT", "port=…"),
        ("try eliza --port PORT turns=2", "--port …"),
        ("launch pw_turn port=PORT", "port=…"),
        ("new --port PORT", "--port …"),
    ],
)
def test_a_port_in_use_is_told_at_once(
    command: str, option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards that nobody waits for libraries, or a model's answer, first; and that the hint is one that is taken."""
    monkeypatch.setenv("PARLAI_HUMANEVAL_DATA_DIR", str(tmp_path))
    for heavy in ("launch.launch", "launch.new_study"):
        monkeypatch.setitem(sys.modules, f"mephisto_tasks.{heavy}", None)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        result = CliRunner().invoke(main, command.replace("PORT", port).split())
    assert result.exit_code == 1
    assert f"error: Port {port} on 127.0.0.1 is in use by another program" in result.output
    assert f"(0 takes any free one): {option}\n" in result.output


@pytest.mark.parametrize(
    ("arguments", "port"), [([], 3000), (["--raters", "2"], 0), (["--raters", "2", "--port", "3000"], 3000)]
)
def test_simulated_raters_need_no_port_of_their_own(
    arguments: list[str], port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards a demo beside another that waits for people, which was refused as the port was in use."""
    asked: list[int] = []

    def check(*given: Any) -> None:
        asked.append(given[2])
        raise CommandError("far enough")

    monkeypatch.setattr("mephisto_tasks.cli.demo._check_at_once", check)
    assert "far enough" in demo(*arguments)[2]
    assert asked == [port]


def test_a_demo_that_ends_when_it_is_decided_says_its_answer(tmp_path: Path) -> None:
    """Guards the first look at it: how much at most, then the answer in a sentence, which heads the report, too."""
    settings = ["stop=decided", "margin=0.4", "max_dialogues=60", "turns=2"]
    liked = ["--models", "eliza,dull", "--prefer", "eliza", "--strength", "1"]
    where = ["--port", "0", "--data-dir", str(tmp_path)]
    status, printed, said = demo("--raters", "2", *liked, *where, *settings)
    assert status == 0, said
    assert "Simulated raters (2 at a time): 0 of at most 60 conversations…" in said
    assert " ".join(printed.split()).count("Answer reached: eliza > dull; ") == 2
    assert "by rater" not in printed
