"""Who may judge what, and what must not give anything away: own dialogues, names in texts, sources and numbers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import scripted_models
from hands import always
from judging_hands import LONG, SHORT, TERSE, WORDY, Judge, chats, judgements, panel_texts, study_beside, talked
from live import rows
from scripted_models import zoo_file

from mephisto_tasks.cli.report import answers_of
from mephisto_tasks.config.task import ConfigError
from mephisto_tasks.simulation.raters import browser_of_simulated
from mephisto_tasks.storage.results import raters_of_dialogues
from parlai_humaneval.report.build import build_report
from parlai_humaneval.schema.steps import RankStep

OUT_OF_PRACTICE = {"onboarding_qualification": None}


@pytest.fixture(autouse=True)
def _scripts() -> Iterator[None]:
    always({WORDY: LONG, TERSE: SHORT})
    yield
    scripted_models.SCRIPTS.clear()


@pytest.mark.parametrize(
    ("task", "settings"),
    [
        ("third_party", {"items_per_unit": 10}),
        ("pw_dialog", {"items_per_unit": 10, "golds_per_unit": 0, "judgements_per_group": 1}),
    ],
)
async def test_nobody_is_shown_a_dialogue_that_they_held(tmp_path: Path, task: str, settings: dict[str, Any]) -> None:
    """Liu et al. 2023: third parties; with oneself nobody disagrees."""
    data_dir = tmp_path / "data"
    live = "single_model" if task == "pw_dialog" else "pw_turn"
    held = await _in_thread(talked, data_dir, live, "mine", dialogues=2)
    owners = raters_of_dialogues(data_dir, "mine")
    assert set(owners) == {record.dialogue_id for record in held}
    async with study_beside(data_dir, task, dialogues=[{"task": "mine"}], **OUT_OF_PRACTICE, **settings) as run:
        for number in range(1, len(held) + 1):
            name = f"talker-mine-{number}"
            async with Judge(run, name, browser=browser_of_simulated(name)) as rater:
                if rater.client.refused is None:
                    await rater.state()
                    shown = [one for record in rater.judgements(run) for one in record.dialogues]
                    await rater.whole_unit()
                    shown += [one for record in rater.judgements(run) for one in record.dialogues]
                    own = {name for name, worker in owners.items() if worker == _worker_id(run, rater)}
                    assert own, "the rater held one of them"
                    assert not own & {one.dialogue_id for one in shown}
        assert judgements(run), "others judged them"


async def test_a_name_in_a_text_is_masked_and_kept(tmp_path: Path) -> None:
    """A file's model that says its name must not be known by it; what it said stays in the record."""
    says_name = chats(
        tmp_path, WORDY, lambda dialogue, exchange: f"I am {WORDY}, and I like tea ({dialogue}.{exchange})."
    )
    other = chats(tmp_path, TERSE, lambda dialogue, exchange: f"Tea is fine ({dialogue}.{exchange}).")
    settings = {"judgements_per_group": 2, "golds_per_unit": 0, "items_per_unit": 2, **OUT_OF_PRACTICE}
    async with (
        study_beside(tmp_path / "data", "pw_dialog", dialogues=[says_name, other], **settings) as run,
        Judge(run, "reader") as rater,
    ):
        state = await rater.state()
        texts = [text for panel in panel_texts(state) for text in panel]
        assert not any(WORDY in text for text in texts)
        assert any(text.startswith("I like tea") for text in texts)
        (record,) = rater.judgements(run)
    lines = [line for shown in record.dialogues for line in shown.lines if line.masks]
    assert lines
    assert all(WORDY in (line.raw_text or "") and WORDY not in line.text for line in lines)


async def test_of_a_task_with_several_settings_only_the_named_ones(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    settings = {"setting": "all", "dialogues": 1}
    held = await _in_thread(talked, data_dir, "sata", "all-settings", **settings)
    assert {record.setting for record in held} == {"soba", "sata_random", "sata_user"}
    wanted = [{"task": "all-settings", "setting": ["sata_random", "sata_user"]}]
    async with study_beside(data_dir, "third_party", dialogues=wanted, **OUT_OF_PRACTICE) as run:
        ratings = [dialogue.rating for dialogue in run.study.dialogues.values()]
        assert sorted(rating.setting for rating in ratings) == ["sata_random", "sata_user"]
    with pytest.raises(Exception, match=r"has no dialogue of the setting soap"):
        async with study_beside(
            data_dir, "third_party", task_name="other", dialogues=[{"task": "all-settings", "setting": "soap"}]
        ):
            pass


async def test_fewer_dialogues_than_an_earlier_launch_made_are_used(tmp_path: Path) -> None:
    """The folder of generated dialogues is shared: what another study asked for is not this one's."""
    zoo = [str(zoo_file(tmp_path, [WORDY, TERSE]))]
    common = {
        "models": [WORDY, TERSE],
        "zoo_files": zoo,
        "exchanges": 2,
        "golds_per_unit": 0,
        "start": "openers",
        **OUT_OF_PRACTICE,
    }
    for number, task_name in ((4, "large"), (2, "small")):
        async with study_beside(
            tmp_path / "data",
            "self_chat",
            task_name=task_name,
            num_dialogues=number,
            judgements_per_group=number,
            **common,
        ) as run:
            assert len(run.study.items) == number**2
            assert len(run.study.dialogues) == 2 * number


async def test_ranking_of_separate_histories_is_of_their_first_turn(tmp_path: Path) -> None:
    """Ma et al. 2023, §3.2: replies to one and the same context; later each model has heard something else."""
    data_dir = tmp_path / "data"
    await _in_thread(talked, data_dir, "free_for_all", "apart", dialogues=1, group_size=2, history="independent")
    ranking = {"show": "turn", "metric": "rank", **OUT_OF_PRACTICE}
    async with study_beside(data_dir, "third_party", dialogues=[{"task": "apart"}], **ranking) as run:
        assert {item.turn for item in run.study.items.values()} == {1}


async def test_the_practice_of_a_ranking_ranks(tmp_path: Path) -> None:
    """It looks like the task; the right reply must stand above the others, whatever their order."""
    data_dir = tmp_path / "data"
    await _in_thread(talked, data_dir, "free_for_all", "ranked", dialogues=1, group_size=2)
    ranking = {"show": "turn", "metric": "rank", "onboarding_qualification": "ranks"}
    async with study_beside(data_dir, "third_party", dialogues=[{"task": "ranked"}], **ranking) as run:
        items = run.study.practice.items
        async with Judge(run, "learner") as rater:
            for tries in ("wrong", "right"):
                for item in items:
                    step = (await rater.state()).step
                    assert isinstance(step, RankStep)
                    good = {item.replies[number - 1] for number in item.right}
                    above, below = (1, 2) if tries == "right" else (2, 1)
                    places = [above if card.text in good else below for card in step.cards]
                    if not step.ties:
                        order = sorted(range(len(places)), key=lambda n: places[n])
                        places = [order.index(n) + 1 for n in range(len(places))]
                    state = await rater.rank(*places)
                if tries == "wrong":
                    assert state.notice is not None
                    assert len(state.notice.points) == len(items)
            assert state.step.kind == "end"
            assert state.step.title == "Practice passed"


async def test_a_pair_that_is_to_be_judged_twice_is_refused(tmp_path: Path) -> None:
    files = [chats(tmp_path, name, lambda dialogue, exchange: f"{dialogue}.{exchange}") for name in (WORDY, TERSE)]
    with pytest.raises(ConfigError, match="judged once; ask for more with judgements_per_group"):
        async with study_beside(tmp_path / "data", "pw_dialog", dialogues=files, judgements_per_item=3):
            pass


async def _in_thread(work: Any, *args: Any, **kwargs: Any) -> Any:
    return await asyncio.to_thread(work, *args, **kwargs)


def _worker_id(run: Any, rater: Judge) -> str:
    ((worker,),) = rows(run.data_dir, "SELECT worker_id FROM agents WHERE agent_id = ?", str(rater.client.agent_id))
    return str(worker)


async def test_a_study_that_nobody_has_rated_is_reported_under_its_technique(tmp_path: Path) -> None:
    """Not as one of turns: `self_chat` is PW-Dialog."""
    files = [chats(tmp_path, name, lambda dialogue, exchange: f"{dialogue}.{exchange}") for name in (WORDY, TERSE)]
    data_dir, wanted = tmp_path / "data", {"judgements_per_group": 2}
    async with study_beside(
        data_dir, "self_chat", models=[WORDY, TERSE], dialogues=files, generate="", **wanted
    ) as run:
        name = run.task_name
    tables, known = answers_of(data_dir, name)
    assert (known.technique, known.tasks) == ("pw_dialog", [name])
    nothing = "Nothing has been rated yet, so nothing can be said about the models."
    assert build_report(tables, task=known).headline() == nothing
