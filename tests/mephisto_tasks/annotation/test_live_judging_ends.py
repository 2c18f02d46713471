"""How units and studies of finished dialogues end: shorter last units, nothing left, and the words for each."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

from judging_hands import Judge, agent_status, judgements, one_unit, study_beside
from live import Rater, eventually, rows
from test_live_judging_breaks import dialogues_of, pairs, segments, wholes

from mephisto_tasks.admission.admission import ALL_DONE, DONE_ALL, PHRASES
from mephisto_tasks.admission.visits import only_closing
from mephisto_tasks.annotation.study import JUDGING_PAIRS
from mephisto_tasks.launch.launch import RunningStudy
from mephisto_tasks.session.study import NOTHING_LEFT, THANKS, filled
from parlai_humaneval.schema.steps import EndStep


async def test_the_last_units_are_shorter(tmp_path: Path) -> None:
    """Five pairs in units of three: the second has two, and says so from its first page."""
    async with study_beside(tmp_path / "data", **pairs(tmp_path, judgements_per_group=5)) as run:
        assert len(await one_unit(run, "first")) == 3
        async with Judge(run, "second") as rater:
            state = await rater.state()
            assert state.progress is not None
            assert (state.progress.current, state.progress.total) == (1, 2)
            await rater.whole_unit()
        await eventually(run.is_done)
        assert len(judgements(run)) == 5


async def test_short_units_leave_room_for_somebody_else(tmp_path: Path) -> None:
    """Eight judgements are three units of three at least; with a rater who comes twice, and may have one more only, four."""
    async with study_beside(tmp_path / "data", **wholes(tmp_path)) as run:
        assert len(run.live_run.task_launcher.units) == 3
        for visit, items in (("first", 3), ("second", 1)):
            async with Judge(run, "eager", visit) as rater:
                assert len(await rater.whole_unit()) == items
                await eventually(lambda: agent_status(run, rater) == "completed")
        assert len(await one_unit(run, "next")) == 3
        assert run.study.remaining == 1
        assert len(await one_unit(run, "last")) == 1
        await eventually(run.is_done)
    statuses = Counter(status for (status,) in rows(run.data_dir, "SELECT status FROM units"))
    assert statuses["completed"] == 4


async def test_everything_is_taken_and_then_done(tmp_path: Path) -> None:
    """Who comes while others do the last ones is told to try later; when they are done, that all is done."""
    async with study_beside(tmp_path / "data", **pairs(tmp_path, judgements_per_group=2, items_per_unit=2)) as run:
        async with Judge(run, "works") as rater:
            await rater.state()
            async with Judge(run, "late") as late:
                assert late.client.refused == only_closing(filled(PHRASES["all_taken"], JUDGING_PAIRS))
            await rater.answer_somehow()
            await rater.answer_somehow()
            async with Judge(run, "later") as late:
                assert late.client.refused == only_closing(filled(ALL_DONE, JUDGING_PAIRS))
            await rater.hand_in()
            end = rater.newest.step
            assert isinstance(end, EndStep)
            assert end.title == THANKS[0]
            assert "Your answers are complete and saved." in end.text
        await eventually(run.is_done)


async def test_nobody_is_left_with_an_empty_page(tmp_path: Path) -> None:
    """Two practise for the last unit: the slower one is told that nothing is left, and not failed."""
    wanted = pairs(tmp_path, judgements_per_group=3, onboarding_qualification="q")
    async with study_beside(tmp_path / "data", **wanted) as run:
        raters = [Judge(run, name) for name in ("quick", "slow")]
        for rater in raters:
            await rater.__aenter__()
            await practise_right(run, rater)
        quick, slow = raters
        await quick.client.submit_onboarding()
        await quick.state()
        details = await slow.client.submit_onboarding()
        if slow.client.refused is None:
            step = (await slow.state()).step
            assert isinstance(step, EndStep)
            assert (step.title, step.text) == (
                filled(NOTHING_LEFT[0], JUDGING_PAIRS),
                only_closing(filled(NOTHING_LEFT[1], JUDGING_PAIRS)),
            )
        else:
            assert details["failure_reason"] == only_closing(filled(PHRASES["all_taken"], JUDGING_PAIRS))
        await quick.whole_unit()
        await eventually(run.is_done)
        for rater in raters:
            await rater.__aexit__(None, None, None)


async def practise_right(run: RunningStudy, rater: Judge) -> None:
    """The practice of pairs without a mistake."""
    assert run.study.practice is not None
    for item in run.study.practice.items:
        await rater.fill(**{run.study.config.metric: "first" if item.better == 1 else "second"})  # type: ignore[union-attr]  # all are pairs


async def test_pages_of_one_worker_at_the_same_moment_get_one_unit(tmp_path: Path) -> None:
    async with study_beside(tmp_path / "data", **segments(tmp_path)) as run:
        pages: list[Rater] = [Judge(run, "twice-at-once", f"page-{number}") for number in range(4)]
        await asyncio.gather(*(page.__aenter__() for page in pages))
        assert sum(page.client.refused is None for page in pages) == 1
        for page in pages:
            await page.__aexit__(None, None, None)


async def test_three_batches_a_worker_at_most(tmp_path: Path) -> None:
    """Deriu et al. 2020, §4; here two. Each of other dialogues, and then a refusal with thanks."""
    async with study_beside(tmp_path / "data", **segments(tmp_path, dialogues=12)) as run:
        met: list[str] = []
        for visit in range(2):
            async with Judge(run, "regular", f"visit-{visit}") as rater:
                await rater.whole_unit()
                met += dialogues_of(rater.judgements(run))
                await eventually(lambda: agent_status(run, rater) == "completed")
        assert len(met) == len(set(met)) == 6
        async with Judge(run, "regular", "visit-3") as rater:
            assert rater.client.refused == only_closing(DONE_ALL)
