"""Several settings of one technique side by side, which is Liu et al.'s way against drift; and chance that repeats."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

from hands import Hands
from live import Launch, eventually, launch, records

from mephisto_tasks.admission.admission import DONE_ALL
from mephisto_tasks.admission.visits import only_closing
from mephisto_tasks.simulation.raters import Behaviour, run_raters
from parlai_humaneval.schema.steps import ChooseStep

SETTINGS = ["soba", "sata_random", "sata_user"]


async def dialogue(rater: Hands, turns: int = 1) -> None:
    """The first card at every turn, to the end."""
    for _ in range(turns):
        await rater.say()
        await rater.pick(0)
    await rater.do("end")
    await rater.hand_in()


async def test_all_settings_at_once_are_balanced_over_one_launch(start: Launch) -> None:
    """Nine raters on three settings of one pair: three dialogues of each, each asked in the way of its setting."""
    async with start(task="sata", setting="all", turns=2, dialogues_per_group=3, models=["eliza", "retrieval"]) as run:
        behaviour = Behaviour(model_of=run.study.shown.get, prefer="retrieval", strength=0.8)
        outcomes = await run_raters(run.url, behaviour, announce=run.study.simulated.add, raters=5, dialogues=9, seed=3)
        assert all(outcome.finished for outcome in outcomes)
        await eventually(run.is_done)
    found = records(run)
    assert Counter(record.setting for record in found) == dict.fromkeys(SETTINGS, 3)
    for record in found:
        most = {"soba": 1}.get(record.setting)
        assert record.settings["max_choices"] == most
        assert record.settings["fallback"] == ("write" if record.setting == "sata_user" else "random")
        for turn in record.turns:
            assert len(turn.selected) == 1 if most == 1 else len(turn.selected) <= 2
            assert (turn.written is not None) == (record.setting == "sata_user" and turn.none_said)
    assert any(turn.none_said for record in found for turn in record.turns), "nobody said “none”: nothing was tested"


async def test_a_worker_rates_a_pair_once_in_each_setting(start: Launch) -> None:
    """Three visits, three settings; the fourth is refused with thanks. The page asks as the setting of the visit does."""
    async with start(task="sata", setting="all", turns=1, dialogues_per_group=2) as run:
        labels = []
        for visit in range(3):
            async with Hands(run, "regular", f"visit-{visit}") as rater:
                step = (await rater.say()).step
                assert isinstance(step, ChooseStep)
                labels.append((step.none_label is not None, step.max_choices))
                await rater.pick(0)
                await rater.do("end")
                await rater.hand_in()
            await eventually(lambda: not run.live_run.task_runner.running_units)
        async with Hands(run, "regular", "visit-4") as rater:
            assert rater.client.refused == only_closing(DONE_ALL)
        assert sorted(record.setting for record in records(run)) == sorted(SETTINGS)
        assert sorted(labels) == [(False, 1), (True, 2), (True, 2)]


async def test_some_of_the_settings(start: Launch) -> None:
    """A list names those that are run; the others are given to nobody."""
    async with start(task="sata", setting=["soba", "sata_user"], turns=1) as run:
        for worker in ("w1", "w2"):
            async with Hands(run, worker) as rater:
                await dialogue(rater)
        await eventually(run.is_done)
    assert sorted(record.setting for record in records(run)) == ["sata_user", "soba"]


def what_happened(folder: Path, seed: int) -> list[list[str]]:
    """Two raters, one after the other, who pick both cards, then none: which models went on."""

    async def rate(url: str) -> None:
        for worker in ("w1", "w2"):
            async with Hands(url, worker) as rater:
                for positions in ((0, 1), (0, 1), (), ()):
                    await rater.say()
                    await rater.pick(*positions)
                await rater.do("end")
                await rater.hand_in()

    with launch(folder, task="sata", turns=4, dialogues_per_group=2, seed=seed) as run:
        asyncio.run(rate(run.url))
    return [
        [next(c.model for c in turn.candidates if c.candidate_id == turn.continued) for turn in record.turns]
        for record in records(run)
    ]


def test_the_same_seed_repeats_what_chance_decided(tmp_path: Path) -> None:
    """Order of cards and continuations come from the study's seed: a study can be repeated; another seed is another one."""
    first = what_happened(tmp_path / "one", 7)
    assert what_happened(tmp_path / "two", 7) == first
    assert what_happened(tmp_path / "three", 8) != first
    assert first[0] != first[1], "dialogues of a study have chances of their own"
