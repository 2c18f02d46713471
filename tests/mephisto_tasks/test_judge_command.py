"""``judge``: from a study in Mephisto's database to answers beside it, again and again, and to ``report`` and ``export``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from judging_hands import chats, says
from stored_study import START, StoredStudy, choices, rated

from mephisto_tasks.annotation import steps as asking
from mephisto_tasks.annotation.config import StaticConfig
from mephisto_tasks.annotation.items import gather
from mephisto_tasks.annotation.steps import shown_item
from mephisto_tasks.cli.privacy import forget
from mephisto_tasks.storage.locks import JudgingElsewhere, only_judging, study_folder
from mephisto_tasks.storage.logs import JUDGE_ANSWERS
from parlai_humaneval.cli import main
from parlai_humaneval.schema.events import Finished, Judged, JudgingStarted
from parlai_humaneval.schema.judge_answers import JudgeAnswer, JudgeCard
from parlai_humaneval.schema.records import GivenAnswer
from parlai_humaneval.tables.files import read_tables

LIKES_BETA = (
    "def reply(history):\n"
    "    first = history[0].text.split('<reply A')[1].split('</reply A')[0]\n"
    "    return '{\"answer\": \"%s\"}' % ('A' if 'beta' in first else 'B')\n"
)
Judge = Callable[..., str]


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A SOBA task of four workers and three turns each, and two conversations with ratings; the data directory."""
    made = StoredStudy(tmp_path / "data")
    for number in range(4):
        made.add("soba", f"worker-{number}", [*choices(f"dialogue-{number}", [[1], [2], [1]], setting="soba")])
        for model in ("alpha", "beta"):
            made.add("da", f"worker-{number}", [*rated(f"d{number}-{model}", model, {"fluent": 60.0 + number})])
    return made.data_dir


@pytest.fixture
def judge(tmp_path: Path) -> Judge:
    """``judge(body, **keys)``: the file of a judge whose model is this function; a price unless it says otherwise."""

    def make(body: str = LIKES_BETA, name: str = "betty", **keys: Any) -> str:
        (tmp_path / f"{name}.py").write_text(body)
        agent = "parlai_humaneval.agents.callable:CallableAgent"
        model = {"options": {"model": agent, "function": f"{name}.py:reply"}}
        price = {"prompt": 0.1, "completion": 0.2}
        known = {"name": name, "model": model, "price_per_1k": price, "family": ["beta"], "max_reply_tokens": 20}
        file = tmp_path / f"{name}.yaml"
        file.write_text(json.dumps({**known, **keys}))
        return str(file)

    return make


def run(data_dir: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments, "--data-dir", str(data_dir)], env={"COLUMNS": "80"})


def asked(data_dir: Path, judge_file: str, *more: str, task: str = "soba", status: int = 0) -> dict[str, Any]:
    done = run(data_dir, "judge", "--judge", judge_file, "--task-name", task, "--json", *more)
    assert done.exit_code == status, done.output
    found: dict[str, Any] = json.loads(done.output.splitlines()[-1])
    return found


def answers(data_dir: Path, task: str = "soba") -> list[JudgeAnswer]:
    return [line for line in JUDGE_ANSWERS.read(data_dir, task) if isinstance(line, JudgeAnswer)]


def test_what_is_missing_is_asked_and_nothing_twice(study: Path, judge: Judge) -> None:
    """Guards resumption, whatever cut it off: the budget here, half a line of the file, a dry run that asks nothing."""
    file = judge()
    expected = asked(study, file, "--dry-run")
    assert (expected["questions"], expected["requests"], expected["answered"]) == (24, 24, 0)
    assert answers(study) == []
    first = asked(study, file, "--max-cost", str(most := 1.3 * expected["cost_at_most"] / 24))
    assert first["stopped"] == "budget"
    assert 0 < first["answered"] < 24
    assert first["cost"] <= most
    path = study_folder(study, "soba") / JUDGE_ANSWERS.name
    path.write_bytes(path.read_bytes()[:-40])  # the machine went while the last line was written
    second = asked(study, file)
    assert (second["asked_now"], second["answered"], second["left"]) == (25 - first["answered"], 24, 0)
    assert asked(study, file)["asked_now"] == 0
    assert len({answer.key for answer in answers(study)}) == len(answers(study)) == 24
    assert second["first_chosen"] == 0.5
    assert second["changed_with_order"] == 0
    assert sum(isinstance(line, JudgeCard) for line in JUDGE_ANSWERS.read(study, "soba")) == 1
    assert asked(study, judge(family=["alpha"]))["asked_now"] == 0
    cards = [line for line in JUDGE_ANSWERS.read(study, "soba") if isinstance(line, JudgeCard)]
    assert [card.family for card in cards] == [["beta"], ["alpha"]]


def test_what_another_run_answered_in_between_is_not_asked_again(
    study: Path, judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards against paying twice: this run has read what is missing, and another one ends before it may begin."""
    file = judge()

    @contextmanager
    def after_another(data_dir: Path, task_name: str) -> Iterator[None]:
        monkeypatch.setattr("mephisto_tasks.cli.judge.only_judging", only_judging)
        assert asked(data_dir, file, task=task_name)["asked_now"] == 24
        with only_judging(data_dir, task_name):
            yield

    monkeypatch.setattr("mephisto_tasks.cli.judge.only_judging", after_another)
    assert asked(study, file)["asked_now"] == 0
    assert len(answers(study)) == 24


def test_people_are_reported_and_exported_as_before(study: Path, judge: Judge, tmp_path: Path) -> None:
    """Guards the one promise, from the command line: figures and files of people are the same with judges beside them."""
    report = ("report", "--task-name", "soba", "--json", "--draws", "100")
    before = json.loads(run(study, *report).output)
    run(study, "export", "--task-name", "soba", "--out", str(tmp_path / "before"))
    spent = asked(study, judge())
    after = json.loads(run(study, *report).output)
    run(study, "export", "--task-name", "soba", "--out", str(tmp_path / "after"))
    section = after.pop("judges")
    for found in (before, after):
        del found["methods"], found["facts"]["made"]
    assert after == before
    (row,) = section["judges"]
    assert (row["judge"], row["answered"], row["cost"]) == ("betty", 24, pytest.approx(spent["cost"]))
    (pair,) = section["pairs"]
    assert (pair["model_a"], pair["judge_rate"], pair["people_rate"]) == ("alpha", 0.0, 1.0)
    (family,) = section["family"]
    assert (family["family"], family["excess"]) == ("beta", 1.0)
    for file in (tmp_path / "before").iterdir():
        assert file.read_bytes() == (tmp_path / "after" / file.name).read_bytes()
    judges = read_tables(tmp_path / "after").judges
    assert judges is not None
    assert set(judges.comparisons["winner"]) == {"beta"}
    assert set(judges.judgements["rater_kind"]) == {"judge"}
    again = CliRunner().invoke(main, ["report", "--tables", str(tmp_path / "after"), "--json", "--draws", "100"])
    reread = json.loads(again.output)["judges"]
    assert reread["judges"][0].pop("cost") == pytest.approx(row.pop("cost"))
    assert reread == section
    shown = " ".join(run(study, "report", "--task-name", "soba", "--full").output.split())
    assert "Judge betty is a model; people's numbers do not include its answers." in shown


@pytest.mark.parametrize(
    ("said", "counts", "words"),
    [
        ("I'm sorry, I can't judge that.", (0, 24, 0), "No answer could be read"),
        ("Both of them have their merits.", (0, 0, 24), "24 unreadable (24 asked twice in this run)"),
        ('{"answer": "A"}', (24, 0, 0), "The judge decides by position rather than content"),
        ('{"answer": "B"}', (24, 0, 0), "The judge decides by position rather than content"),
    ],
)
def test_a_judge_that_is_of_no_use_is_told_so(
    study: Path, judge: Judge, said: str, counts: tuple[int, int, int], words: str
) -> None:
    """Guards who refuses, writes prose, or always takes the first: plain words, and all of it kept; a script that got no
    answer at all does not go on as if it had one."""
    file = judge(f"def reply(history):\n    return {said!r}\n")
    done = run(study, "judge", "--judge", file, "--task-name", "soba")
    status = int(not counts[0])
    assert done.exit_code == status, done.output
    assert words in " ".join(done.output.split())
    found = asked(study, file, status=status)
    assert (found["answered"], found["refused"], found["unparsable"]) == counts
    assert {answer.replies[0] for answer in answers(study)} == {said}


def test_ratings_are_asked_for_too(study: Path, judge: Judge) -> None:
    """Guards dialogues that are rated at their end: one order, and the criterion's own scale."""
    found = asked(study, judge('def reply(history):\n    return \'{"answer": {"fluent": 55}}\'\n'), task="da")
    assert (found["questions"], found["answered"], found["first_chosen"]) == (8, 8, None)
    report = json.loads(run(study, "report", "--task-name", "da", "--json", "--draws", "100").output)
    (row,) = report["judges"]["agreement"]
    assert (row["what"], row["difference"]) == ("fluent", pytest.approx(-6.5))


def test_items_that_nobody_has_judged_are_asked_about_when_wanted(tmp_path: Path, judge: Judge) -> None:
    """Guards answers by a judge on all beside people's on a part: drawn once, and no item of a rater's among them."""
    files = [chats(tmp_path, model, says(model[-1])) for model in ("alpha", "beta")]
    config = StaticConfig(
        technique="pw_dialog", metric="preference", setting="human_bot", dialogues=files, pairing="any"
    )
    items = gather(config.model_copy(update={"seed": 3}), tmp_path, 3)
    shown = {dialogue.dialogue_id: dialogue for dialogue in items.dialogues}
    study = StoredStudy(tmp_path / "data")
    for number, item in enumerate(items.items[:4]):
        begun = JudgingStarted(
            at=START,
            schema_version=3,
            judgement_id=f"j{number}",
            item_id=item.item_id,
            technique="pw_dialog",
            setting=item.cell.setting,
            settings=config.model_copy(update={"seed": 3}).model_dump(mode="json"),
            metric="preference",
            group=list(item.cell.models),
            dialogues=shown_item(item, shown, 0),
            questions=asking.asked(config),
            seed=1,
            session="s",
        )
        answer = GivenAnswer(question_id="preference", option="first", seconds=5, at=START + 5)
        study.add("pairs", f"w{number}", [begun, Judged(at=START + 5, answers=[answer]), Finished(at=START + 6)])
    data_dir, file = study.data_dir, judge("def reply(history):\n    return 'A'\n")
    assert len(items.items) == 16
    assert asked(data_dir, file, task="pairs")["questions"] == 8
    more = asked(data_dir, file, "--unjudged", "5", task="pairs")
    assert (more["questions"], more["asked_now"]) == (18, 10)
    assert asked(data_dir, file, "--unjudged", "5", task="pairs")["asked_now"] == 0
    assert asked(data_dir, file, "--unjudged", "99", task="pairs")["questions"] == 32
    assert asked(data_dir, file, task="pairs")["answered"] == 8
    run(data_dir, "export", "--task-name", "pairs", "--out", str(tmp_path / "tables"))
    tables = read_tables(tmp_path / "tables")
    assert tables.judges is not None
    assert (len(tables.comparisons), len(tables.judges.comparisons)) == (4, 32)
    assert set(tables.comparisons["item_id"]) < set(tables.judges.comparisons["item_id"])
    found = run(data_dir, "report", "--task-name", "pairs", "--judge", "betty", "--draws", "100", "--json")
    together = json.loads(found.output[found.output.index("{") :])["with_judge"]
    assert [row["human"] for row in together["rows"] if row["what"].startswith("win rate")] == [4]
    done = run(data_dir, "report", "--task-name", "pairs", "--judge", "nobody", "--draws", "100")
    assert done.exit_code == 1
    assert (
        "judge 'nobody': no row of the tables is by a judge of that name in: main report try: judges are betty"
        in " ".join(done.output.split())
    )
    done = run(data_dir, "judge", "--judge", file, "--task-name", "pairs", "--unjudged", "1", "--dry-run")
    assert done.exit_code == 0, done.output


def test_who_writes_more_than_it_may_is_told_of(study: Path, judge: Judge) -> None:
    """Guards the budget's word: it is kept for replies of 20 tokens, and these have 2,500."""
    file = judge("def reply(history):\n    return 'long' * 2500\n")
    done = run(study, "judge", "--judge", file, "--task-name", "soba", "--max-cost", "0.5")
    assert done.exit_code == 1, done.output  # none of it can be read, either
    told = " ".join(done.output.split())
    assert "The run cost more than --max-cost allows, because replies were longer than max_reply_tokens" in told
    assert "stopped before" not in told


def test_wrong_calls_say_what_to_do(study: Path, judge: Judge) -> None:
    """Guards against half a run: a broken model, no price, another judge of the same name, somebody else at it."""

    def told(*arguments: str) -> str:
        done = run(study, "judge", "--task-name", "soba", *arguments)
        assert done.exit_code == 1, done.output
        return " ".join(done.output.split())

    broken = told("--judge", judge("def reply(history):\n    raise ValueError('no weights')\n", name="broken"))
    assert "5 questions got no reply" in broken
    assert "no weights" in broken
    assert "24 questions are left" in broken
    assert answers(study) == []
    free = judge(name="free", price_per_1k=None)
    assert "has no price" in told("--judge", free, "--max-cost", "1")
    assert "must be 0 or more, not nan" in told("--judge", judge(), "--max-cost", "nan")
    assert "nowhere.yaml" in told("--judge", "nowhere.yaml")
    asked(study, judge())
    assert "give the new judge a different name" in told("--judge", judge(seed=7))
    assert "there is no task" in " ".join(run(study, "judge", "--judge", free, "--task-name", "none").output.split())
    assert "here raters judged their own dialogues" in told("--judge", free, "--unjudged", "3")
    with only_judging(study, "soba"):
        assert "is being asked about task 'soba' already" in told("--judge", free)
        with pytest.raises(JudgingElsewhere), only_judging(study, "soba"):
            pass


def test_who_is_forgotten_is_forgotten_by_judges_too(study: Path, judge: Judge, tmp_path: Path) -> None:
    """Guards people's words: what a judge read of their dialogues goes, here and in tables; of others' it stays."""
    asked(study, judge())
    run(study, "export", "--task-name", "soba", "--out", str(tmp_path / "tables"))
    done = CliRunner().invoke(forget, ["worker-1", "--yes", "--data-dir", str(study)])
    assert done.exit_code == 0, done.output
    assert {answer.thing for answer in answers(study)} == {"dialogue-0", "dialogue-2", "dialogue-3"}
    assert "dialogue-1" not in (study_folder(study, "soba") / JUDGE_ANSWERS.name).read_text()
    assert asked(study, judge())["questions"] == 18
    exported = read_tables(tmp_path / "tables").judges
    assert exported is not None
    theirs = exported.judgements["dialogues"] == "dialogue-1"
    assert exported.judgements["prompt"].isna().tolist() == theirs.tolist()
    assert theirs.any()
