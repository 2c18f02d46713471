"""Studies of finished dialogues that stop once they reach a decision, with a judge that is asked before any rater comes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from deciding_raters import rated
from judging_hands import TERSE, WORDY, chats, judgements, launch_study, one_unit, study_beside
from live import TASK

from mephisto_tasks.config.names import ConfigError
from mephisto_tasks.storage.logs import DECISIONS, JUDGE_ANSWERS
from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval.schema.judge_answers import JudgeAnswer, UnjudgedItem
from parlai_humaneval.stopping.events import Answered, Arrived, Predicted
from parlai_humaneval.stopping.study import replay

FIRST_IF_EVEN = """
import re

def reply(history):
    text = history[-1].text
    numbers = [int(one) for one in re.findall(r"thing (\\d+)\\.1", text)]
    return '{"answer": "%s"}' % ("A" if numbers[0] % 2 == 0 else "B")
"""
"""Goes by the number of the dialogue that is shown first, and so by no model."""


def judge_file(folder: Path, name: str = "parity", body: str = FIRST_IF_EVEN, **more: Any) -> str:
    (folder / f"{name}.py").write_text(body)
    options = {"model": "parlai_humaneval.agents.callable:CallableAgent", "function": f"{name}.py:reply"}
    file = folder / f"{name}.yaml"
    file.write_text(json.dumps({"name": name, "model": {"options": options}, **more}))
    return str(file)


def study(folder: Path, **more: Any) -> dict[str, Any]:
    def says(text: str) -> Any:
        return lambda dialogue, exchange: f"{text} ({dialogue}.{exchange})"

    files = [chats(folder, model, says(text), dialogues=6) for model, text in ((WORDY, "Good " * 12), (TERSE, "So."))]
    settings = {"stop": "decided", "margin": 0.3, "max_dialogues": 36, "items_per_unit": 3}
    return {"task": "pw_dialog", "dialogues": files, **settings, **more}


async def test_a_judge_is_asked_first_and_its_answers_are_in_the_log(tmp_path: Path) -> None:
    """Guards the whole way: all pairings are judged before a rater comes, what they were given was drawn by lot, and the
    log says what the judge had said of it before it says what they answered."""
    data_dir = tmp_path / "data"
    async with study_beside(data_dir, **study(tmp_path, judge=judge_file(tmp_path))) as run:
        lines = JUDGE_ANSWERS.read(data_dir, TASK)
        assert sum(isinstance(line, UnjudgedItem) for line in lines) == 36
        assert sum(isinstance(line, JudgeAnswer) for line in lines) == 72
        await rated(run, WORDY)
        now = run.study.deciding_now()
        assert now is not None
        assert now.standing.judge is not None
        assert now.standing.judge.name.startswith("parity@")
        assert "parity" in now.standing.judge.said
        assert now.standing.answer == f"{WORDY} > {TERSE}"
        found = judgements(run)
    log = DECISIONS.read(data_dir, TASK)
    replay(log)
    foretold = {
        (event.worker, event.dialogue): (place, event)
        for place, event in enumerate(log)
        if isinstance(event, Predicted)
    }
    answered = {(event.worker, event.dialogue): place for place, event in enumerate(log) if isinstance(event, Answered)}
    assert answered.keys() <= foretold.keys()
    assert all(foretold[key][0] < place for key, place in answered.items())
    assert {event.share for _, event in foretold.values()} == {0.0, 0.5, 1.0}
    assert all(0 < event.mean < 1 for _, event in list(foretold.values())[:6])
    assert len(found) == len(answered)


async def test_what_a_judge_says_later_is_not_used_and_another_judge_is_refused(tmp_path: Path) -> None:
    """Guards against a judge that knows people's answers: what it was not asked before a rater came counts for nothing."""
    priced = judge_file(tmp_path, price_per_1k={"prompt": 1.0, "completion": 1.0}, max_reply_tokens=5)
    settings = study(tmp_path, judge=priced, judge_max_cost=0.0)
    data_dir = tmp_path / "data"
    async with study_beside(data_dir, **settings) as run:
        assert any("36 pairings that" in said for said in run.study.remarks)
        await one_unit(run, "w1")
    assert not any(isinstance(event, Predicted) for event in DECISIONS.read(data_dir, TASK))
    async with study_beside(data_dir, **{**settings, "judge_max_cost": None}) as run:
        assert sum(isinstance(line, JudgeAnswer) for line in JUDGE_ANSWERS.read(data_dir, TASK)) == 72
        await one_unit(run, "w2")
    log = DECISIONS.read(data_dir, TASK)
    first, second = (event.worker for event in log if isinstance(event, Arrived))
    assert {event.worker for event in log if isinstance(event, Predicted)} == {second}
    assert first != second
    for changed, said in (
        ({"judge": judge_file(tmp_path, "other")}, "judge was parity@.* and is now other@"),
        ({"judge": ""}, "judge was parity@.* and is now none"),
    ):
        with (
            pytest.raises(HumanevalError, match=said),
            launch_study(data_dir, **{**settings, "judge_max_cost": None, **changed}),
        ):
            pass


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"stop": "collected", "margin": None, "max_dialogues": None}, "judge.*only studies with stop=decided"),
        ({"judge": "nowhere.yaml"}, "nowhere.yaml"),
        ({"judge_max_cost": 1.0}, "has no price"),
        ({"judge": "", "judge_max_cost": 1.0}, "no judge is set"),
    ],
)
def test_what_does_not_go_with_a_judge_is_refused(tmp_path: Path, settings: dict[str, Any], said: str) -> None:
    with (
        pytest.raises(HumanevalError, match=said),
        launch_study(tmp_path / "data", **study(tmp_path, **{"judge": judge_file(tmp_path), **settings})),
    ):
        pass


def test_a_judge_without_replies_stops_the_launch(tmp_path: Path) -> None:
    broken = judge_file(tmp_path, "broken", "def reply(history):\n    raise ValueError('no weights')\n")
    with (
        pytest.raises(ConfigError, match=r"broken gave no replies .*no weights"),
        launch_study(tmp_path / "data", **study(tmp_path, judge=broken)),
    ):
        pass
