"""``parlai-humaneval plan`` as people call it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from parlai_humaneval.cli import main
from parlai_humaneval.planning.inputs import plannable


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["plan", *arguments])


def plan_json(*arguments: str) -> dict[str, object]:
    result = call(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    found: dict[str, object] = json.loads(result.stdout)
    return found


def test_keys_of_json() -> None:
    """Guards what scripts read: the promised keys, inputs as they were used, and no number that JSON does not have."""
    found = plan_json("--technique", "pw_turn", "--gap", "0.1")
    assert {"n_turns", "n_dialogues", "n_workers", "hours", "cost", "power"} <= set(found)
    assert found["n_turns"] == 987
    assert found["inputs"]["icc"] == 0.05
    assert "NaN" not in json.dumps(found)


@pytest.mark.parametrize(
    ("arguments", "turns"),
    [
        ("--technique sata --setting soba", 196),
        ("--technique pw_turn", 196),
        ("--technique sata --setting sata_random", 667),
        ("--technique single_model --baseline 0.8", 126),
        ("--technique sata --setting soba --models 4 --shares 54,53,48,35", 430),
        ("--technique sata --setting sata_random --models 4 --discordance 0.408", 445),
    ],
)
def test_numbers_of_the_paper(arguments: str, turns: int) -> None:
    """Guards the examples of the help: --method liu2023 prints the five numbers of that paper's Table 1."""
    found = plan_json(*arguments.split(), "--gap", "0.1", "--method", "liu2023")
    assert found["n_turns"] == turns
    text = call(*arguments.split(), "--gap", "0.1", "--method", "liu2023").stdout
    assert f"{turns} rated turns" in text


def test_every_flag_counts() -> None:
    """Guards that each flag changes the plan in the way it says."""
    base = plan_json("--technique", "sata", "--gap", "0.1")
    for flag, value, key, sign in (
        ("--power", "0.9", "n_turns", 1),
        ("--alpha", "0.01", "n_turns", 1),
        ("--discordance", "0.5", "n_turns", -1),
        ("--turns", "20", "n_dialogues", -1),
        ("--icc", "0.2", "n_turns", 1),
        ("--exclusion", "0.5", "n_dialogues", 1),
        ("--exclusion", "0.5", "n_workers", 1),
        ("--pay", "10", "cost", 1),
        ("--wage", "30", "cost", 1),
        ("--fee", "0.4", "cost", 1),
        ("--dialogues-per-worker", "3", "n_workers", -1),
        ("--minutes", "20", "hours", 1),
        ("--onboarding", "20", "hours", 1),
        ("--worker-inequality", "1", "n_turns", 1),
    ):
        changed = plan_json("--technique", "sata", "--gap", "0.1", flag, value)
        assert (changed[key] - base[key]) * sign > 0, flag
    single = ["--technique", "single_model", "--gap", "0.1"]
    assert plan_json(*single, "--baseline", "0.5")["n_turns"] > plan_json(*single)["n_turns"]
    several = ["--technique", "sata", "--models", "5", "--gap", "0.1"]
    assert plan_json(*several, "--tests", "pairs")["tests"] == 10
    assert plan_json("--gap", "0.1", "--baseline", "0.6", "--reuse", "9") != plan_json("--gap", "0.1")
    held = ["--technique", "pw_dialog", "--gap", "0.1"]
    fewer = plan_json(*held, "--reuse", "10")["n_dialogues"]
    assert fewer < plan_json(*held)["n_dialogues"]
    for flag, value in (("--dialogue-icc", "0.1"), ("--dialogue-sd", "0.7"), ("--dialogue-pay", "5")):
        assert plan_json(*held, flag, value)["cost"] > plan_json(*held)["cost"], flag
    assert plan_json(*held, "--setting", "self_chat")["title"] == "PW-Dialog (self-chat)"


def test_text() -> None:
    """Guards what people read: the sentence, the rows, the sources, and nothing wider than a terminal."""
    text = call("--technique", "pw_turn", "--gap", "0.1").stdout
    assert text.startswith("PW-Turn needs 987 rated turns (223 dialogues) from 223 raters")
    assert "Sources and assumptions:" in text
    assert "Smith et al. 2022" in text
    assert max(len(line) for line in text.splitlines()) <= 100


def test_comparison() -> None:
    """Guards the comparison without --technique and with --compare, as text and as JSON."""
    for arguments in (("--gap", "0.1", "--models", "4"), ("--technique", "arena", "--compare", "--gap", "0.1")):
        text = call(*arguments).stdout
        assert sum("PW-Turn" in line for line in text.splitlines()) == 2, "its row, and what the gap means"
        assert text.count("between the win rates of two models: 0.55 and 0.45") == 1, "of all techniques with this gap"
        result = plan_json(*arguments)
        assert len(result["plans"]) == 10
    assert "distinguish any two of the 4 models" in call("--gap", "0.1", "--models", "4").stdout
    (note,) = plan_json("--gap", "0.1", "--models", "4")["notes"]
    assert note in " ".join(call("--gap", "0.1", "--models", "4").stdout.split())
    assert not plan_json("--gap", "0.1")["notes"]
    assert "no plan for single_model" in call("--gap", "0.45").stdout


def test_simulation() -> None:
    """Guards --simulate: the power with its interval in text and JSON, of the seed that was given."""
    arguments = ["--technique", "arena", "--gap", "0.4", "--simulate", "--replicates", "100"]
    found = plan_json(*arguments)["simulated"]
    assert found["ci_low"] < found["estimate"] < found["ci_high"]
    (line,) = [line for line in call(*arguments, "--seed", "1").stdout.splitlines() if "simulated power" in line]
    assert f"{found['estimate']:.3f}" not in line


@pytest.mark.parametrize(("ending", "begins"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_curve(tmp_path: Path, ending: str, begins: bytes) -> None:
    """Guards the picture in its three formats, and that JSON stays clean beside it."""
    path = tmp_path / f"power.{ending}"
    plan_json("--technique", "sata", "--models", "3", "--gap", "0.1", "--curve", str(path))
    assert path.read_bytes().startswith(begins)
    assert f"The power curve is in {path}" in call("--technique", "sata", "--gap", "0.1", "--curve", str(path)).stdout


def test_plan_in_a_file(tmp_path: Path) -> None:
    """Guards --out: the same JSON as printed."""
    path = tmp_path / "plan.json"
    printed = plan_json("--technique", "arena", "--gap", "0.2", "--out", str(path))
    assert json.loads(path.read_text(encoding="utf-8")) == printed


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("", "--gap 0.1"),
        ("--gap 0", "not there"),
        ("--gap much", "--gap"),
        ("--gap 0.1 --icc 1 --pay -3", "pay -3"),
        ("--gap 0.1 --setting soba", "add --technique"),
        ("--gap 0.1 --simulate", "add --technique"),
        ("--gap 0.1 --models 1", "2 or more"),
        ("--technique sata --gap 0.5 --discordance 0.4", "more often than the answers do"),
        ("--technique sata --shares a,b", "54,53,48,35"),
        ("--technique telepathy --gap 0.1", "pw_turn"),
        ("--technique sata --gap 0.1 --setting x", "try: choose one of: sata_random, "),
        ("--technique pw_turn --gap 0.1 --setting x", "try: leave --setting out"),
        ("--technique sata --gap 0.1 --baseline 0.3", "--baseline is for single_model, not for sata"),
        (
            "--technique pw_turn --gap 0.1 --reuse 3",
            "--reuse is for pw_dialog, self_chat and spot_the_bot, not for pw_turn",
        ),
        (
            "--technique pw_turn --gap 0.1 --dialogue-sd 0.7",
            "--dialogue-sd is for pw_dialog, self_chat and spot_the_bot",
        ),
        ("--technique pw_turn --gap 0.1 --curve power.gif", ".png"),
        ("--technique pw_turn --gap 0.1 --curve /nowhere/power.png", "cannot be written"),
        ("--technique pw_turn --gap 0.1 --out /nowhere/plan.json", "cannot be written"),
        ("--gap 0.95 --technique single_model", "--baseline"),
        ("--technique pw_turn --gap 0.1 --judge-agreement 0.5", "answers by chance agrees on 0.5 of pw_turn's answers"),
        ("--gap 0.1 --judge-agreement 0.3", "(above 0.5), or leave it out"),
        ("--technique single_model --gap 0.1 --judge-agreement 0.65", "answers by chance agrees on 0.68"),
        ("--technique pw_turn --gap 0.1 --judge-agreement 70", "at most 1, such as 0.7"),
        ("--technique pw_turn --gap 0.1 --judge-agreement nan", "at most 1, such as 0.7"),
    ],
)
def test_wrong_input(arguments: str, words: str) -> None:
    """Guards the errors: exit code 2, a sentence that says what to do, nothing on stdout, no traceback."""
    result = call(*arguments.split())
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stdout == ""
    assert isinstance(result.exception, SystemExit)


def test_what_a_judge_saves() -> None:
    """Guards the saving: 1 − r² of independent answers for a judge of ever more, and that text and JSON say the same."""
    asked = ("--technique", "pw_turn", "--gap", "0.1", "--icc", "0", "--judge-agreement")
    judge = plan_json(*asked, "0.85")["judge"]
    assert judge["correlation"] == pytest.approx(0.7)
    people = plan_json(*asked[:-1])["n_judgements"]
    assert judge["n_judgements"] == pytest.approx(people * (1 - 0.49) / (1 - 0.049), abs=1)
    assert judge["saved_judgements"] == people - judge["n_judgements"]
    assert judge["gain"] == pytest.approx(people / judge["n_judgements"])
    text = " ".join(call(*asked, "0.85").stdout.split())
    assert judge["headline"] in text
    assert all(note in text for note in judge["notes"])
    assert "at most 49 %" in text
    assert plan_json(*asked[:-1])["judge"] is None


def test_a_judge_saves_more_the_better_it_is_and_the_less_workers_agree_with_themselves() -> None:
    """Guards the direction of both, also for scores and for one model at a time, and the fewest workers."""
    for technique in ("pw_turn", "single_model", "direct_assessment", "pw_dialog"):
        asked = ("--technique", technique, "--gap", "0.1", "--judge-agreement")
        gains = [plan_json(*asked, agreement)["judge"]["gain"] for agreement in ("0.7", "0.8", "0.95")]
        assert 1 <= gains[0] < gains[1] < gains[2], technique
        assert plan_json(*asked, "0.8", "--icc", "0.17")["judge"]["gain"] <= gains[1], technique
    best = plan_json("--technique", "pw_turn", "--gap", "0.5", "--icc", "0", "--judge-agreement", "1")
    assert best["judge"]["n_judgements"] == min(60, best["n_judgements"])


def test_techniques_are_compared_with_a_judge() -> None:
    """Guards that all have a plan, also those where chance agrees as often as the judge."""
    plans = plan_json("--gap", "0.1", "--judge-agreement", "0.66")["plans"]
    assert len(plans) == 10
    assert [plan["technique"] for plan in plans if plan["judge"] is None] == ["single_model"]


def test_help_teaches() -> None:
    """Guards the help: every technique, examples, and each option of the command explained, with its default."""
    text = call("--help").stdout
    assert all(technique in text for technique in plannable())
    assert "parlai-humaneval plan --gap 0.1" in text
    assert "Probability of detecting a difference of --gap. [default: 0.8]" in " ".join(text.split())
    assert "plan" in CliRunner().invoke(main, ["--help"]).stdout


def test_nothing_heavy_is_imported() -> None:
    """Guards a quick start: a plan loads no Mephisto, ParlAI, torch, matplotlib, scipy.stats or statsmodels."""
    code = (
        "import sys\n"
        "from parlai_humaneval.cli import main\n"
        "asked = ['plan', '--technique', 'pw_turn', '--gap', '0.4', '--simulate', '--replicates', '100', '--json']\n"
        "main(asked, standalone_mode=False)\n"
        "heavy = {'mephisto', 'parlai', 'torch', 'matplotlib', 'scipy.stats', 'statsmodels', 'sklearn'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
