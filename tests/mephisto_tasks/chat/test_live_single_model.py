"""One model a chat: ticks at each reply with an explicit none, scores at the end (Smith et al. 2022; Liu et al. 2023)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hands import NOT_BOTH, NOT_SHOWN, Hands, texts
from live import Launch, eventually, launch, records

from mephisto_tasks.launch.launch import RunningStudy
from parlai_humaneval.schema.steps import RateStep, TickStep

SCORES = {"preference": 4, "humanness": 3, "interestingness": 5}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStudy]:
    """SM-Turn and SM-Dialog of one scripted model, two turns."""
    with launch(
        tmp_path_factory.mktemp("single"), task="single_model", models=["alpha"], dialogues_per_group=30
    ) as run:
        yield run


async def to_the_scores(rater: Hands) -> None:
    await rater.tick("engaging")
    await rater.say()
    await rater.tick()


async def test_ticks_and_scores_are_stored_with_their_words(run: RunningStudy) -> None:
    """Two ticks, then an explicit none, then three scores; the record says what each was asked in."""
    async with Hands(run, "whole") as rater:
        state = await rater.state()
        assert isinstance(state.step, TickStep)
        assert state.step.reply is not None
        assert state.step.reply.text == "alpha at turn 1"
        assert [option.option_id for option in state.step.options] == ["engaging", "human-like", "interesting"]
        assert state.step.none_label == "None of the above"
        await rater.tick("interesting", "engaging")
        await rater.say()
        state = await rater.tick()
        assert texts(state)[-1] == "alpha at turn 2"
        assert isinstance(state.step, RateStep)
        assert [(s.style, s.minimum, s.maximum) for s in state.step.scales] == [("points", 1, 5)] * 3
        assert [(s.left, s.right) for s in state.step.scales] == [
            ("Would not at all prefer", "Would very much prefer"),
            ("Very inhuman", "Very human"),
            ("Very boring", "Very interesting"),
        ], "as the statements say in brackets"
        assert state.progress is not None
        assert (state.progress.current, state.progress.total) == (2, 2)
        await rater.rate(4, 3, 5)
        await rater.hand_in("fine")
        assert rater.newest.progress == state.progress, "to the end"
    record = rater.record(run)
    assert record.status == "complete"
    assert [turn.ticks for turn in record.turns] == [["interesting", "engaging"], []]
    assert [turn.none_said for turn in record.turns] == [False, True]
    assert record.final_ratings == SCORES
    assert record.final_seconds is not None
    assert [criterion.name for criterion in record.turn_criteria] == ["engaging", "human-like", "interesting"]
    assert [(c.name, c.scale, c.minimum, c.maximum) for c in record.criteria] == [(n, "likert", 1, 5) for n in SCORES]
    assert "long conversation" in record.turn_criteria[0].text
    assert (record.points, record.verdict) == ({}, None)


async def test_no_tick_is_not_yet_a_none(run: RunningStudy) -> None:
    """Smith et al.: “none” must be an act; neither silence nor a none beside a tick is one."""
    async with Hands(run, "silent") as rater:
        assert "None of the above" in await rater.refused(selected=[])
        assert NOT_BOTH in await rater.refused(selected=["engaging"], none=True)
        assert NOT_SHOWN in await rater.refused(selected=["funny"])
        assert "twice" in await rater.refused(selected=["engaging", "engaging"])
        await rater.tick()
    assert rater.record(run).turns[0].ticks == []


async def test_scores_that_are_none_are_refused(run: RunningStudy) -> None:
    """Missing, half, too high, text, truth values, an unknown scale: told in words, and no answer of before is lost."""
    async with Hands(run, "scores") as rater:
        await to_the_scores(rater)
        wrong = {
            "one still has no answer": {k: v for k, v in SCORES.items() if k != "humanness"},
            "3 still have no answer": {},
            "one of the points": {**SCORES, "humanness": 2.5},
            "between 1 and 5": {**SCORES, "humanness": 6},
            "number on its scale": {**SCORES, "humanness": "3"},
            "You were not shown that statement": {**SCORES, "wit": 3},
        }
        for said, values in wrong.items():
            assert said in await rater.refused(values=values)
        for value in (0, -1, 1e300):
            assert "between 1 and 5" in await rater.refused(values={**SCORES, "humanness": value})
        for nothing in (None, True, [3], {"x": 3}, "NaN"):
            assert "number on its scale" in await rater.refused(values={**SCORES, "humanness": nothing})
        for no_values in (None, [4, 3, 5], "4"):
            assert "number on its scale" in await rater.refused(values=no_values)
        await rater.rate(4, 3, 5)
        await rater.hand_in()
    record = rater.record(run)
    assert (record.final_ratings, len(record.complete_turns)) == (SCORES, 2)


async def test_a_score_that_is_not_a_number_does_not_pass_the_router(run: RunningStudy) -> None:
    """NaN is no JSON: the line says so, and the step is still there for a right answer."""
    async with Hands(run, "nan") as rater:
        await to_the_scores(rater)
        for word in ("NaN", "Infinity", "-Infinity"):
            values = f'{{"preference": {word}, "humanness": 3, "interestingness": 3}}'
            answer = f'{{"update_id": "{word}", "kind": "rate", "step_id": "final", "values": {values}}}'
            before = len(rater.client.errors)
            await rater.client.send_raw(
                f'{{"packet_type": "mephisto_bound_live_update", "subject_id": "{rater.client.agent_id}", "data": {answer}}}'
            )
            assert "not valid JSON" in await rater.client.next_error(after=before)
        await rater.rate(1)
        await rater.hand_in()
    assert rater.record(run).final_ratings == dict.fromkeys(SCORES, 1)


async def test_all_models_run_at_the_same_time(start: Launch) -> None:
    """Smith et al.'s answer to day effects: the dialogues of a study go round its models from the first day."""
    async with start(task="single_model", models=["alpha", "beta", "gamma"], turns=1, dialogues_per_group=3) as run:
        for number in range(6):
            async with Hands(run, f"w{number}") as rater:
                await rater.tick()
                await rater.rate(3)
                await rater.hand_in()
        models = [record.models[0].name for record in records(run)]
        for three in (models[:3], models[3:]):
            assert sorted(three) == ["alpha", "beta", "gamma"]


async def test_appropriate_yes_or_no(start: Launch) -> None:
    """Liu et al.'s single-model evaluation: one question a reply, “no” is an answer as good as “yes”, no scores."""
    async with start(task="single_model", conf="appropriate", models=["alpha"], turns=2) as run:
        async with Hands(run) as rater:
            await rater.say("Hello there, partner")
            state = await rater.state()
            assert isinstance(state.step, TickStep)
            assert (len(state.step.options), state.step.none_label) == (1, "No, it is not appropriate")
            await rater.tick("appropriate")
            await rater.say()
            assert "No, it is not appropriate" in await rater.refused(selected=[])
            await rater.tick()
            await rater.do("end")
            await rater.hand_in()
        await eventually(run.is_done)
        (record,) = records(run)
    assert [turn.ticks for turn in record.turns] == [["appropriate"], []]
    assert (record.metric, record.criteria, record.final_ratings) == ("appropriate", [], {})
