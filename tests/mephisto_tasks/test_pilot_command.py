"""A few dialogues, and the plan of the main study by what they tell: its cap, its cost, and its preregistration."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from live import config_of, launch

from mephisto_tasks.launch.preparation import checked_settings
from mephisto_tasks.storage.results import read_records, task_names
from parlai_humaneval.cli import main
from parlai_humaneval.planning.inputs import ICC
from parlai_humaneval.planning.preregistration import Preregistration, read_preregistration, write_preregistration
from parlai_humaneval.schema.records import DialogueRecord
from parlai_humaneval.tables.build import tables
from parlai_humaneval.tables.columns import typed
from parlai_humaneval.tables.example import example_tables
from parlai_humaneval.tables.files import write_tables

QUICK = ["--margin", "0.4", "--max-dialogues", "40", "--replicates", "100"]
TURNS = 6


def pilot_tables(folder: Path, *, workers: int = 60, icc: float = 0.3, leavers: int = 6, each: int = 2) -> Path:
    """Turns of ada and bob, in dialogues of raters whose answers are so much alike; the first few leave one."""
    rng, size = np.random.default_rng(4), (1 / icc - 1) / 2
    turns: list[dict[str, Any]] = []
    dialogues: list[dict[str, Any]] = []
    for worker in range(workers):
        chance = rng.beta(size, size)
        for number in range(each):
            left = worker < leavers and number == each - 1
            status = "partial" if left else "complete"
            study = {"technique": "pw_turn", "metric": "preference", "dialogue_id": f"d{worker}-{number}"}
            study |= {"worker_id": f"w{worker}", "setting": ""}
            for turn in range(2 if left else TURNS):
                chosen = "ada" if rng.random() < chance else "bob"
                answer = {"turn": turn + 1, "written": 0, "seconds": 20.0, "dialogue_status": status}
                for position, model in enumerate(("ada", "bob"), start=1):
                    picked = {"selected": int(model == chosen), "continued": int(model == chosen)}
                    turns.append({**study, **answer, **picked, "model": model, "position": position})
            held = {"status": status, "complete": int(not left), "seconds": rng.uniform(200, 900), "n_turns": TURNS}
            dialogues.append({**study, **held, "started": f"2026-01-01T00:{worker % 60:02}:00Z"})
    frames = {"turns": typed("turns", pd.DataFrame(turns)), "dialogues": typed("dialogues", pd.DataFrame(dialogues))}
    write_tables(replace(tables([]), **frames), folder)
    return folder


def pilot(*arguments: str) -> tuple[int, str, str]:
    """Status, standard output and standard error."""
    done = CliRunner().invoke(main, ["pilot", *arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout, done.stderr


def planned(*arguments: str) -> dict[str, Any]:
    status, printed, said = pilot(*arguments, *QUICK, "--json")
    assert status == 0, said
    found: dict[str, Any] = json.loads(printed[printed.index("{") :])
    return found


REGISTERED = Preregistration(
    technique="pw_turn",
    question="",
    settings={"models": ["eliza", "retrieval"], "seed": 5, "turns": 2},
    aims={"gap": 0.1, "power": 0.8, "alpha": 0.05},
)


def chats(path: Path, each: int) -> None:
    """Dialogues of a person with ada, and with bob, so many of each."""
    lines = []
    for model in ("ada", "bob"):
        for number in range(each):
            acts = [[{"id": "person", "text": f"{turn}?"}, {"id": "bot", "text": f"{model} {turn}"}] for turn in "abc"]
            known = {"dialogue_id": f"{model}-{number}", "entities": {"person": "human", "bot": model}}
            lines.append(json.dumps({"dialog": acts, **known}))
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("technique", "margin", "more"),
    [
        ("direct_assessment", 0.3, ["models=[ada,bob,cyd]", "quality_control_model=", "conversations_per_unit=2"]),
        ("single_model", 0.3, ["models=[ada,bob,cyd]"]),
        ("sata", 0.3, ["models=[ada,bob,cyd,dan,eve]", "group_size=5"]),
    ],
)
def test_a_rule_is_registered_as_it_is_typed(technique: str, margin: float, more: list[str], tmp_path: Path) -> None:
    """Guards typed settings: a study that stops once it reaches a decision is never registered as a fixed one. Five models
    in a chat cannot each be .3 apart, so nothing is simulated of the last."""
    write_tables(example_tables(), tmp_path / "pilot")
    typed_in = ["stop=decided", "max_dialogues=400", f"margin={margin}", *more]
    path, where = tmp_path / "study.md", str(tmp_path / "pilot")
    status, printed, said = pilot(technique, *typed_in, "--replicates", "100", "--tables", where, "--prereg", str(path))
    assert status == 0, said
    settings = read_preregistration(path).settings
    assert (settings["stop"], settings["margin"], settings["max_dialogues"]) == ("decided", margin, 400)
    for text in (printed, path.read_text()):
        assert ("You set the cap to 400" in " ".join(text.split())) is (technique == "sata")


def test_dialogues_that_are_there_bound_the_cap_and_are_not_paid(tmp_path: Path) -> None:
    """Guards what is registered against what the launch refuses, and the judge by its content; nobody is planned who
    holds what is held."""
    write_tables(example_tables(), tmp_path / "pilot")
    chats(tmp_path / "chats.jsonl", 20)
    judge, path = tmp_path / "judge.yaml", tmp_path / "study.md"
    judge.write_text("name: longer\nmodel: {options: {model: repeat_label}}\n")
    given = [f"dialogues=[{tmp_path / 'chats.jsonl'}]", f"judge={judge}", "--tables", str(tmp_path / "pilot")]
    status, printed, said = pilot("pw_dialog", *given, "--replicates", "100", "--prereg", str(path), "--json")
    assert status == 0, said
    found = json.loads(printed[printed.index("{") :])
    facts, plan = read_preregistration(path), found["plan"]
    assert facts.settings["max_dialogues"] == plan["stop"]["max_dialogues"] == 400
    assert any(
        "The cap is 400, because there are too few dialogues for more judgements" in remark
        for remark in found["remarks"]
    )
    assert facts.judge.startswith("longer@")
    assert plan["n_workers"] * plan["inputs"]["dialogues_per_worker"] < plan["n_judgements_collected"] + 5
    assert plan["cost"] == pytest.approx(plan["n_judgements_collected"] * plan["inputs"]["pay"] * 1.2, rel=0.01)


def test_tables_with_a_known_icc_are_planned_by_it(tmp_path: Path) -> None:
    """Guards each figure against what the answers were made of: within its interval, and planned with."""
    found = planned("pw_turn", "--tables", str(pilot_tables(tmp_path)))
    icc, left, minutes = found["figures"]
    assert icc["low"] < 0.3 < icc["high"]
    assert icc["low"] > 0
    assert (icc["planned"], icc["is_default"]) == (icc["pilot"], False)
    assert (left["name"], left["pilot"]) == ("drop_out", 0.1)
    assert left["low"] < 0.1 < left["high"] < 0.25
    assert minutes["low"] <= minutes["pilot"] <= minutes["high"]
    assert minutes["planned"] == minutes["pilot"]
    plan = found["plan"]
    assert (plan["inputs"]["icc"], plan["models"], plan["gap"]) == (icc["pilot"], 2, 0.4)
    assert (plan["stop"]["max_dialogues"], plan["stop"]["margin"], plan["stop"]["turns"]) == (40, 0.4, TURNS)
    assert found["command"] == (
        "parlai-humaneval launch pw_turn 'models=[ada,bob]' stop=decided margin=0.4 max_dialogues=40 'zoo_files=[FILE]'"
    )
    assert any("Replace FILE with the zoo file that contains ada and bob" in remark for remark in found["remarks"])


def test_what_a_small_pilot_cannot_tell_is_said(tmp_path: Path) -> None:
    """Guards against a lucky 0: with three raters the default ICC is planned with, and named so."""
    where = str(pilot_tables(tmp_path, workers=3, leavers=0, each=1))
    icc, _, minutes = planned("pw_turn", "--tables", where)["figures"]
    assert (icc["planned"], icc["is_default"]) == (ICC, True)
    assert minutes["low"] is None, "of three medians none holds 95 % between two others"
    status, printed, said = pilot("pw_turn", "--tables", where, *QUICK)
    assert status == 0, said
    assert "0.050 (default)" in printed
    assert "fewer than 10 raters" in " ".join(printed.split())
    assert "The main study:\n  parlai-humaneval launch pw_turn" in printed


def test_a_crowd_says_what_the_main_study_costs(tmp_path: Path) -> None:
    """Guards reward and fee: the plan counts with those of the settings, and the cap has its price."""
    where = str(pilot_tables(tmp_path, workers=12, leavers=0))
    site = ["place=mturk", "requester_name=me", "public_url=https://my.host", "task_reward=1.5", "models=[ada,bob]"]
    found = planned("pw_turn", *site, "workers.masters=true", "--tables", where)
    assert (found["plan"]["inputs"]["pay"], found["plan"]["inputs"]["fee"]) == (1.5, pytest.approx(0.25, abs=0.01))
    assert found["quote"]["units"] == 40
    assert float(found["quote"]["total"]) == pytest.approx(40 * 1.5 * 1.25, abs=0.5)
    site[0] = "place=prolific"
    remarks = planned("pw_turn", *site, "--tables", where)["remarks"]
    assert any("The crowd's fee is unknown" in remark for remark in remarks)


def test_a_pilot_is_collected_here_and_the_main_study_registered_by_one_file(tmp_path: Path) -> None:
    """Guards the whole way: a file of settings, a launch on this machine without its crowd and its rule, the plan, and a
    preregistration with which the main study can be launched as it is."""
    file, path, data = tmp_path / "study.yaml", tmp_path / "study.md", tmp_path / "data"
    file.write_text(
        "technique: pw_turn\nmodels: [eliza, retrieval]\nturns: 2\nstop: decided\nmargin: 0.4\nmax_dialogues: 30\n"
        "time_out_minutes: 20\nalpha: 0.1\nseed: 5\nplace: mturk_sandbox\nrequester_name: me\npublic_url: https://my.host\n"
    )
    options = ["--raters", "3", "--dialogues", "3", "--port", "0", "--data-dir", str(data), "--replicates", "100"]
    status, printed, said = pilot(str(file), *options, "--prereg", str(path))
    assert status == 0, said
    (name,) = task_names(data)
    records = read_records(data, name)
    assert {record.settings["stop"] for record in records} == {"collected"}
    assert [len(record.complete_turns) for record in records if isinstance(record, DialogueRecord)] == [2, 2, 2]
    assert f"launch pw_turn conf={file} prereg={path}" in printed
    facts = read_preregistration(path)
    settings = checked_settings(
        "pw_turn", config_of(data, conf=str(file), models=["eliza", "retrieval"], prereg=str(path))
    )
    assert facts.settings["max_dialogues"] == 30
    assert facts.settings["time_out_minutes"] == 20
    assert (facts.settings["alpha"], facts.settings["seed"]) == (0.1, 5)
    assert facts.changes(settings.model_dump(mode="json")) == []
    status, _, said = pilot(str(file), *options, "--prereg", str(path))
    assert status != 0
    assert "never overwritten" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["pw_turn", "--tables", "missing"], "there is no such folder or table"),
        (["pw_turn", "--task-name", "missing"], "there is no"),
        (["pw_turn", "--task-name", "a", "--tables", "b"], "both name a pilot"),
        (["pw_turn", "--exclude", "greeting"], "is for a preregistration"),
        (["missing.yaml"], "there is no file"),
        (["unnamed.yaml"], "names no technique"),
        (["pw_turns"], "there is no technique"),
        (["third_party"], "a third_party study cannot be planned"),
        (
            ["pw_turn", "stop=decided", "--max-dialogues", "3", "--tables", "few", "margin=0.1", "max_dialogues=40"],
            "2 models with a floor of 4 dialogues each need 4",
        ),
        (["pw_turn", "--margin", "0"], "never decide between two equal models"),
        (["pw_turn", "--prereg", "new.md", "--exclude", "greting"], "Did you mean greeting"),
        (["pw_turn", "--tables", "empty"], "the pilot has no ratings"),
        (["pw_turn", "--tables", "single"], "the pilot has 1 rater"),
        (["arena", "--tables", "few"], "name a study that used arena, or the technique that this one used"),
        (["pw_turn", "turnss=4", "--tables", "few"], "Did you mean turns"),
        (["pw_turn", "models=[ada,ada]", "--tables", "few"], "cannot be compared with itself"),
        (["pw_turn", "prereg=registered.md"], "a pilot comes before the study is registered"),
        (["single_model", "models=[ada,bob]", "--tables", "few"], "add stop=decided"),
        (["pw_dialog", "dialogues=[chats.jsonl]", "judge=priceless.yaml", "judge_max_cost=5"], "has no price"),
        (["pw_dialog", "dialogues=[chats.jsonl]", "--max-dialogues", "50"], "can be judged at most 49 times"),
    ],
)
def test_what_is_no_pilot_is_refused(
    arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards the errors: each names what is wrong, before anybody is asked anything."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "unnamed.yaml").write_text("turns: 2\n")
    write_tables(tables([]), tmp_path / "empty")
    pilot_tables(tmp_path / "single", workers=1, leavers=0)
    pilot_tables(tmp_path / "few", workers=3, leavers=0)
    chats(tmp_path / "chats.jsonl", 7)
    (tmp_path / "priceless.yaml").write_text("name: longer\nmodel: {options: {model: repeat_label}}\n")
    write_preregistration(tmp_path / "registered.md", REGISTERED, expected="", version="test")
    status, _, said = pilot(*QUICK, *arguments, "--data-dir", str(tmp_path / "data"))
    assert status != 0
    assert words in " ".join(said.split())


def test_a_pilot_goes_on_with_further_raters(tmp_path: Path) -> None:
    """Guards a second pilot of the same name: its dialogues come on top, and the plan counts all raters; then a third."""
    data, name = tmp_path / "data", "my-pilot"
    given = ["pw_turn", "models=[eliza,retrieval]", "turns=2", "--port", "0", "--data-dir", str(data)]
    given += ["--task-name", name, *QUICK]
    for more, wanted in ((2, 2), (3, 5), (1, 6)):
        status, printed, said = pilot(*given, "--dialogues", str(more), "--raters", "2")
        assert status == 0, said
        assert f"The pilot ({wanted} raters)" in printed
        assert f"--task-name {name} --dialogues" in printed
        assert len([record for record in read_records(data, name) if record.status == "complete"]) == wanted
    status, printed, said = pilot(*given)
    assert status == 0, said
    assert "The pilot (6 raters)" in printed, "without --dialogues nothing is collected"
    assert task_names(data) == [name]
    status, _, said = pilot("sata", *given[1:], "--dialogues", "2")
    assert status != 0
    assert "is a pilot of pw_turn, not of sata" in said


def test_a_pilot_that_runs_gets_more_dialogues(tmp_path: Path) -> None:
    """Guards a pilot under way, which goes on for longer, against a second launch; and a paid study against a pilot."""
    data = tmp_path / "data"
    given = ["pw_turn", "models=[alpha,beta]", "--data-dir", str(data), "--dialogues", "4", *QUICK]
    with launch(data, reward=0, dialogues_per_group=2, task_name="mine") as run:
        status, printed, said = pilot(*given, "--task-name", "mine")
        assert status == 0, said
        assert "6 conversations are requested now" in printed
        assert run.study.remaining == 6
        status, _, said = pilot(*given, "--task-name", "mine", "--raters", "2")
        assert status != 0
        assert "only its own launch can add simulated raters" in said
    with launch(data, task_name="paid"):
        pass
    status, _, said = pilot(*given, "--task-name", "paid")
    assert status != 0
    assert "paid is a study, and not a pilot" in said
