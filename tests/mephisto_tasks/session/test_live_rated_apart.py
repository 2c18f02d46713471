"""Launches that end when their answer is reached, where each model is rated on its own; over real pages."""

from __future__ import annotations

from typing import Any

import pytest
from deciding_raters import rated
from live import TASK, Launch, Rater, eventually, records

from mephisto_tasks.cli.report import answers_of
from mephisto_tasks.config.names import ConfigError
from mephisto_tasks.monitoring.observe import Observer
from mephisto_tasks.storage.logs import DECISIONS
from parlai_humaneval.report.build import build_report
from parlai_humaneval.report.section import Options
from parlai_humaneval.stopping.events import Answered, Arrived, Left
from parlai_humaneval.stopping.study import replay

DECIDED: dict[str, Any] = {"stop": "decided", "margin": 0.4, "max_dialogues": 120}
ASSESSMENT: dict[str, Any] = {
    "task": "direct_assessment",
    "quality_control_model": "",
    "topic": "none",
    "ask_opinion": False,
}
ASKED: dict[str, dict[str, Any]] = {
    "scales, a rater each": {"task": "single_model"},
    "scales, two models a rater": {"task": "single_model", "conversations_per_unit": 2},
    "ticks at turns": {"task": "single_model", "final_criteria": [], "conversations_per_unit": 2},
    "sliders, two models a rater": {**ASSESSMENT, "conversations_per_unit": 2},
    "a slider where high is bad": {**ASSESSMENT, "conversations_per_unit": 2, "final_criteria": ["robotic"]},
    "sliders, three models a rater": {**ASSESSMENT, "conversations_per_unit": 3, "models": ["alpha", "beta", "gamma"]},
}


@pytest.mark.parametrize("asked", ASKED)
async def test_ratings_of_single_models_decide(start: Launch, asked: str) -> None:
    """Guards the whole way, from what raters answer on their pages to the end; and that the log leads to it, too."""
    settings = {**DECIDED, **ASKED[asked], "turns": 1}
    async with start(**settings) as run:
        await rated(run, "alpha", at_once=4)
        now = run.study.deciding_now()
        assert now is not None
        standing = now.standing
        better = {pair.claim for pair in standing.pairs if "alpha" in (pair.first, pair.second)}
        assert better == {f"alpha > {other}" for other in settings.get("models", ["alpha", "beta"]) if other != "alpha"}
        assert standing.answered == len(records(run))
    log = DECISIONS.read(run.data_dir, TASK)
    assert replay(log).standing() == standing
    arrived = [event for event in log if isinstance(event, Arrived)]
    assert {len(event.dialogues) for event in arrived[:3]} == {settings.get("conversations_per_unit", 1)}
    first = {event.dialogues[0] for event in arrived}
    assert len(first) > 1, "which model comes first is drawn"
    outcomes = [event.outcome for event in log if isinstance(event, Answered)]
    assert all(len(outcome.picks) == 1 for outcome in outcomes)
    if asked == "ticks at turns":
        assert {outcome.turns for outcome in outcomes} == {3}
    over = Observer(run.data_dir, TASK, draws=100).standing()
    assert over.deciding is not None
    assert over.deciding.standing == standing
    tables, known = answers_of(run.data_dir, TASK)
    document = build_report(tables, Options(draws=100), task=known)
    assert document.headline() == over.headline
    assert "ratings that were compared, half the scale as a whole win" in document.sentence()
    assert "ratings are less than 20 % of the scale apart" in " ".join(document.sections["stopping"].remarks)


async def test_who_leaves_is_compared_with_nobody(start: Launch) -> None:
    """Guards who is compared, over real pages: whoever comes after a rater who left begins anew, with whoever comes next."""
    async with start(**DECIDED, task="single_model", turns=1, disconnect_after_s=1) as run:
        async with Rater(run, "leaver") as leaver:
            await leaver.state()
        await eventually(lambda: any(isinstance(event, Left) for event in DECISIONS.read(run.data_dir, TASK)))
        await eventually(lambda: not run.live_run.task_runner.running_units)
        await rated(run, "alpha", at_once=1, most=2)
        now = run.study.deciding_now()
        assert now is not None
        assert (now.standing.workers, now.standing.dialogues, now.standing.in_flight) == (3, 2, 0)
    arrived = [event.dialogues for event in DECISIONS.read(run.data_dir, TASK) if isinstance(event, Arrived)]
    assert {*arrived[1], *arrived[2]} == {("alpha",), ("beta",)}


async def test_several_models_a_rater_are_not_fewer_later(start: Launch) -> None:
    """Guards the rule: who is compared with whom is fixed when the study begins."""
    settings = {**DECIDED, "task": "single_model", "models": ["alpha", "beta", "gamma"], "turns": 1}
    async with start(**settings, conversations_per_unit=3) as run:
        await rated(run, "alpha", at_once=1, most=1)
    with pytest.raises(ConfigError, match="conversations_per_unit was 3 or more and is now 1 or 2"):
        async with start(**settings, conversations_per_unit=1):
            pass
