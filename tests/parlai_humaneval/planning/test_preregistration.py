"""What is written down of a study before it begins: its hash, its text, and the command that writes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from parlai_humaneval.cli import main
from parlai_humaneval.planning.preregistration import (
    Preregistration,
    PreregistrationError,
    preregistration_text,
    read_preregistration,
    write_preregistration,
)

SETTINGS: dict[str, Any] = {
    "stop": "decided",
    "models": ["ada", "bob"],
    "metric": "preference",
    "margin": 0.1,
    "alpha": 0.05,
    "max_dialogues": 400,
    "seed": 7,
    "raters_at_a_time": 8,
    "time_out_minutes": 60,
    "transitive": True,
    "blocking_checks": ["greeting", "capitals"],
}
FACTS = Preregistration(technique="pw_turn", question="Which?", settings=SETTINGS, exclude=("greeting", "too_fast"))
values = st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | st.text(max_size=5)


def registered(**changes: Any) -> Preregistration:
    return FACTS.model_copy(update=changes)


@given(name=st.sampled_from(sorted(SETTINGS)), value=values | st.lists(values, max_size=3))
def test_each_setting_is_in_the_hash(name: str, value: Any) -> None:
    """Another value of any one fact is another hash; the same value, however it is written, is the same."""
    other = registered(settings={**SETTINGS, name: value})
    is_same = (type(value) is not bool and value == SETTINGS[name]) or value is SETTINGS[name]
    assert (other.digest == FACTS.digest) == is_same
    assert bool(other.changes(SETTINGS)) == bool(FACTS.changes(other.settings)) == (not is_same)


@pytest.mark.parametrize(
    "changes",
    [
        {"technique": "arena"},
        {"question": "Which one?"},
        {"exclude": ("greeting",)},
        {"aims": {"gap": 0.1}},
        {"settings": {**SETTINGS, "models": ["bob", "ada"]}},
        {"settings": {**SETTINGS, "turns": 4}},
        {"settings": {name: value for name, value in SETTINGS.items() if name != "seed"}},
    ],
)
def test_each_other_fact_is_in_the_hash(changes: dict[str, Any]) -> None:
    """Also the order of models, by which pairs are drawn, and settings that come and go."""
    assert registered(**changes).digest != FACTS.digest


@given(
    order=st.permutations(sorted(SETTINGS)), exclude=st.permutations(["greeting", "too_fast"]), indent=st.integers(0, 9)
)
def test_order_and_format_are_not_in_the_hash(order: list[str], exclude: list[str], indent: int) -> None:
    """Names in any order, checks in any order, blanks, and whole numbers with a point or without."""
    settings = {name: SETTINGS[name] for name in order} | {
        "time_out_minutes": 60.0,
        "blocking_checks": ["capitals", "greeting"],
    }
    facts = {"exclude": exclude, "settings": settings, "question": "Which?", "technique": "pw_turn"}
    written = json.dumps(facts, indent=indent)
    assert Preregistration.model_validate_json(written).digest == FACTS.digest


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """The text can be added to; its facts cannot be changed, and no file is replaced."""
    path = tmp_path / "study.md"
    write_preregistration(path, FACTS, expected="Some 200 dialogues.", version="1")
    assert read_preregistration(path).digest == FACTS.digest
    text = path.read_text()
    assert FACTS.digest in text
    path.write_text(f"# Ours\n\nHypothesis: ada.\n\n{text}\n\nSigned.\n")
    assert read_preregistration(path).digest == FACTS.digest
    path.write_text(text.replace('"margin": 0.1', '"margin": 0.2'))
    with pytest.raises(PreregistrationError, match="the facts were changed: their hash is"):
        read_preregistration(path)
    with pytest.raises(PreregistrationError, match="never overwritten"):
        write_preregistration(path, FACTS, expected="", version="1")
    for wrong in (
        "nothing",
        "```json\n{}\n```",
        f"```json\n{{}}\n```\n{FACTS.digest}",
        f"```json\n{{\n```\n{FACTS.digest}",
    ):
        path.write_text(wrong)
        with pytest.raises(PreregistrationError):
            read_preregistration(path)
    with pytest.raises(PreregistrationError, match=r"missing\.md"):
        read_preregistration(tmp_path / "missing.md")


def test_a_study_registered_without_the_content_of_a_judge_keeps_its_hash() -> None:
    """Guards files of before; and with a judge its version is part of the hash."""
    assert "judge" not in json.loads(FACTS.canonical)
    assert registered(judge="longer@1").digest not in (FACTS.digest, registered(judge="longer@2").digest)
    parsed = Preregistration.model_validate_json(registered(judge="longer@1").canonical)
    assert parsed.judge == "longer@1"


def test_the_text_says_the_rule() -> None:
    """Question, models, rule, cap, seed, raters at a time, who is left out, and when what is claimed."""
    text = " ".join(preregistration_text(FACTS, expected="Some 200.", version="1").split())
    for words in (
        "models do raters prefer: ada and bob",
        "“Which?”",
        "or after 400 dialogues",
        "At most 8 raters take part at a time",
        "random seed 7",
        "family-wise at α = 0.05",
        "less than 10 points apart",
        "fail capitals and greeting are blocked",
        "leave out raters who fail greeting and too_fast",
        "Nobody is left out of the decisions",
        "No judge takes part",
        "95 % anytime-valid interval",
        "prereg=FILE",
    ):
        assert words in text
    asked = FACTS.model_copy(update={"settings": {**SETTINGS, "metric": "humanness"}})
    assert "models do raters choose: ada and bob?" in preregistration_text(asked, expected="", version="1")
    fixed = registered(
        settings={"stop": "collected", "models": ["a", "b"], "seed": 1, "dialogues_per_group": 120},
        aims={"gap": 0.1, "power": 0.8, "alpha": 0.05},
        exclude=(),
    )
    text = " ".join(preregistration_text(fixed, expected="", version="1").split())
    for words in (
        "after 120 dialogues of each group",
        "has p < 0.05",
        "power 80 % for a gap of 10 points",
        "leaves out nobody",
    ):
        assert words in text
    assert "decided" not in text


def plan(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["plan", "--technique", "pw_turn", "--gap", "0.3", *arguments])


def test_a_judge_is_registered_and_none_comes_later() -> None:
    """Guards against a judge that was thought of after the registration."""
    settings = {**SETTINGS, "judge": ""}
    without = FACTS.model_copy(update={"settings": settings})
    assert list(map(str, without.changes({**settings, "judge": "late.yaml"}))) == [
        "judge was nothing and is now late.yaml"
    ]
    with_judge = FACTS.model_copy(update={"settings": {**SETTINGS, "judge": "my.yaml"}})
    assert "A judge (`my.yaml`) is asked before a rater" in preregistration_text(with_judge, expected="", version="1")


def test_a_plan_writes_it(tmp_path: Path) -> None:
    """The rule of the plan, the settings that were typed, and the words of the question; and how to launch it."""
    path = tmp_path / "study.md"
    stop = ["--stop", "decided", "--max-dialogues", "60", "--replicates", "100", "--seed", "3"]
    done = plan(
        *stop, "--prereg", str(path), "models=[ada,bob]", "metric=humanness", "turns=4", "--exclude", "greeting"
    )
    assert done.exit_code == 0, done.stderr
    assert f"launch pw_turn prereg={path}" in done.stdout
    facts = read_preregistration(path)
    assert facts.settings == {
        "metric": "humanness",
        "seed": 3,
        "stop": "decided",
        "margin": 0.3,
        "alpha": 0.05,
        "max_dialogues": 60,
        "raters_at_a_time": 8,
        "time_out_minutes": 60,
        "transitive": True,
        "judge": "",
        "models": ["ada", "bob"],
        "turns": 4,
    }
    assert (facts.technique, facts.exclude) == ("pw_turn", ("greeting",))
    assert "human" in facts.question
    found = json.loads(plan(*stop, "--prereg", str(tmp_path / "2.md"), "models=[a,b]", "turns=4", "--json").stdout)
    assert found["stop"]["turns"] == 4, "the study that is planned is that which is registered"
    fixed = tmp_path / "fixed.md"
    done = plan("--prereg", str(fixed), "models=[ada,bob,cyd]", "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    facts = read_preregistration(fixed)
    assert found["preregistration"] == {"file": str(fixed), "digest": facts.digest}
    assert found["models"] == 3
    assert facts.settings["dialogues_per_group"] == -(-found["n_dialogues"] // 3)
    assert facts.aims == {"gap": 0.3, "power": 0.8, "alpha": 0.05}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["models=[ada,bob]"], "settings such as models=[ada,bob] belong in a preregistration, but no file"),
        (["--exclude", "greeting"], "--exclude is for a preregistration"),
        (["--prereg", "{new}"], "must name the 2 models to compare"),
        (["--prereg", "{new}", "models=[a,b]", "--models", "3"], "must name the 3 models"),
        (["--prereg", "{new}", "models=[a,b]", "alpha=0.1"], "pass it as an option, --alpha"),
        (["--prereg", "{new}", "models"], "is not a setting"),
        (["--prereg", "{new}", "models=[a,b]", "metric=humannes"], "has no metric 'humannes'"),
        (["--prereg", "{new}", "models=[a,b]", "--exclude", "greting"], "there is no check 'greting'"),
        (["--prereg", "{new}", "models=[a,b]", "--compare"], "--prereg is for one plan"),
        (["--prereg", "{new}", "models=[a,b]", "turnss=4"], "Did you mean turns"),
        (["--prereg", "{new}", "models=[a,b]", "turns=abc"], "turns: must be a whole number"),
        (["--prereg", "{new}", "models=[a,a]"], "cannot be compared with itself"),
        (["--prereg", "{new}", "models=[a,b]", "judge=no.yaml"], "only studies with stop=decided use it"),
        (["--stop", "never"], "--stop cannot be 'never'"),
        (["--prereg", "{there}", "models=[a,b]"], "never overwritten"),
        (["--prereg", "{folder}/missing/new.md", "models=[a,b]"], "cannot be written"),
    ],
)
def test_wrong_questions_are_refused(arguments: list[str], said: str, tmp_path: Path) -> None:
    """Before anything is simulated, and nothing is written."""
    (tmp_path / "there.md").write_text("mine")
    names = {"new": str(tmp_path / "new.md"), "there": str(tmp_path / "there.md"), "folder": str(tmp_path)}
    done = plan(*(argument.format(**names) for argument in arguments))
    assert done.exit_code != 0
    assert said in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["there.md"]
    assert (tmp_path / "there.md").read_text() == "mine"
