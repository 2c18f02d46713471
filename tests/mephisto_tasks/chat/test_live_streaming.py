"""Replies that real raters see grow: from servers that stream, through a launch, to the page and into the records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hands import Hands, by_model
from live import REASON, Launch, Rater, eventually, records
from streaming_server import Says, streaming_models

from mephisto_tasks.cli.launch import launch
from mephisto_tasks.launch.launch import RunningStudy
from parlai_humaneval.display.presenter import word_ends
from parlai_humaneval.schema.steps import ChooseStep, PageState, TickStep, WaitStep

SLOW = (
    "I like tea best of all. I drink it in the morning and in the evening, and sometimes at noon, when the kettle of the "
    "neighbours sings behind the wall and reminds me of the long summers at my uncle's. And you, my friend?"
)
WALK = (
    "On most days two old dogs walk along it with me, past the mill and the harbour, and then we all go home for lunch."
)
FAST = f"I like the sea. {WALK} I'm ChatGPT, made by OpenAI."
SHOWN = {"slow": SLOW, "fast": f"I like the sea. {WALK}"}


@pytest.fixture
def zoo(tmp_path: Path) -> Iterator[str]:
    models = {"slow": Says(SLOW, first_s=0.4, word_s=0.06), "fast": Says(FAST, first_s=0.0, word_s=0.001)}
    with streaming_models(tmp_path, models) as file:
        yield str(file)


def seen_states(run: RunningStudy) -> list[PageState]:
    """Every state that is sent to a rater from now on."""
    states: list[PageState] = []
    send = run.live_run.client_io.send_live_update

    def spy(agent_id: str, update: dict[str, Any]) -> None:
        states.append(PageState.model_validate(update["state"]))
        send(agent_id, update)

    run.live_run.client_io.send_live_update = spy
    return states


def coming(states: list[PageState]) -> list[dict[str, str]]:
    """What was shown of each reply while it grew, by candidate, in all states."""
    steps = [state.step.coming for state in states if isinstance(state.step, WaitStep)]
    cards = [step.cards if isinstance(step, ChooseStep) else [step.reply] for step in steps if step is not None]
    return [{card.candidate_id: card.text for card in each if card is not None} for each in cards]


async def test_replies_grow_at_one_pace_and_are_chosen_from_when_complete(start: Launch, zoo: str) -> None:
    """Guards the whole way: words of both long before the slow one is over, as many of each; the name that is hidden in
    none of it; the same cards to choose from; and the times on record."""
    settings = {"models": ["slow", "fast"], "zoo_files": [zoo], "turns": 2}
    async with start(replies={"streaming": True, "ask_again": 0}, **settings) as run:
        states = seen_states(run)
        async with Rater(run) as rater:
            await rater.choose()
            state = await rater.write("And then?")
            assert isinstance(state.step, ChooseStep)
            final = {card.candidate_id: card.text for card in state.step.cards}
            grown = [shown for shown in coming(states) if shown.keys() <= final.keys()]
            await rater.finish()
        await eventually(run.is_done)
        (record,) = records(run)
    assert sorted(final.values()) == sorted(SHOWN.values())
    assert len(grown) > 4
    for shown in grown:
        counts = {name: len(word_ends(text)) for name, text in shown.items()}
        assert all(final[name].startswith(text) for name, text in shown.items())
        assert len({count for name, count in counts.items() if shown[name] != final[name]}) <= 1
    first = by_model(record.turns[1])
    assert {model: one.text for model, one in first.items()} == SHOWN
    assert all(one.first_token_s is not None and not one.replaced for one in first.values())
    slow = first["slow"]
    assert slow.first_token_s is not None
    assert 0.4 <= slow.first_token_s < slow.latency_s
    shown_at, human_at = record.turns[1].shown_at, record.turns[1].human_at
    assert shown_at is not None
    assert shown_at - human_at >= slow.latency_s
    assert "ChatGPT" not in str([state.model_dump() for state in states])


async def test_a_page_that_is_loaded_again_sees_what_has_grown(start: Launch, zoo: str) -> None:
    """Guards reloads in the middle of a reply: the present state, and not the dots alone. An answer that comes too early
    is refused, and is none later."""
    settings = {"models": ["slow", "fast"], "zoo_files": [zoo], "turns": 2}
    async with start(replies={"streaming": True, "ask_again": 0}, **settings) as run:
        states = seen_states(run)
        async with Rater(run) as rater:
            state = await rater.choose()
            await rater.send(kind="message", step_id=state.step.step_id, text="And?")  # type: ignore[union-attr]  # a step is open
            before = len(coming(states))
            await eventually(lambda: len(coming(states)) > before)
            async with Rater(run) as again:
                shown = await again.client.next_state()
                assert isinstance(shown.step, WaitStep)
                assert isinstance(shown.step.coming, ChooseStep)
                early = {"step_id": shown.step.coming.step_id, "selected": list(coming([shown])[0])[:1]}
                await again.send(kind="choose", reason=REASON, **early)
                assert isinstance((await again.state()).step, ChooseStep)
                await again.choose(1)
        await eventually(lambda: records(run)[0].turns[1].complete)
        (record,) = records(run)
    picked = next(one for one in record.turns[1].candidates if record.turns[1].picks(one))
    assert picked.position == 2


async def test_one_reply_to_tick_grows_above_its_statements(start: Launch, zoo: str) -> None:
    """The same where there is nothing to compare."""
    async with start(
        task="single_model", models=["slow"], zoo_files=[zoo], turns=2, replies={"streaming": True}
    ) as run:
        states = seen_states(run)
        async with Hands(run) as rater:
            await rater.tick()
            state = await rater.say()
            assert isinstance(state.step, TickStep)
            assert len({text for shown in coming(states) for text in shown.values()}) > 3


async def test_partners_side_by_side_grow_in_their_columns(start: Launch, zoo: str) -> None:
    """Guards Arena, where replies are no cards: unfinished lines of the transcript, in the places where they stay."""
    async with start(
        task="arena", models=["slow", "fast"], zoo_files=[zoo], replies={"streaming": True, "ask_again": 0}
    ) as run:
        states = seen_states(run)
        async with Hands(run) as rater:
            await rater.say("Hello!")
            state = await rater.say("And then?")
        lines = {entry.entry_id: entry for entry in state.transcript[-2:]}
    growing = [entry for each in states for entry in each.transcript if entry.growing and entry.entry_id in lines]
    assert len({entry.text for entry in growing}) > 4
    for entry in growing:
        assert lines[entry.entry_id].text.startswith(entry.text)
        assert (entry.column, entry.markup) == (lines[entry.entry_id].column, None)
    assert not any(entry.growing for entry in state.transcript)


async def test_where_nothing_is_set_replies_come_whole(start: Launch, zoo: str) -> None:
    """Guards the papers' techniques: raters saw whole replies."""
    async with start(models=["slow", "fast"], zoo_files=[zoo], turns=2) as run:
        states = seen_states(run)
        async with Rater(run) as rater:
            await rater.choose()
            await rater.write("And then?")
        assert coming(states) == []


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ("pw_dialog", "pw_dialog has no setting 'replies.streaming'"),
        ("pw_turn replies.typing=fixed", "streaming shows replies as they come, but typing=fixed delays them"),
    ],
)
def test_where_no_reply_can_grow_that_is_refused(tmp_path: Path, task: str, said: str) -> None:
    """Guards the launch: finished dialogues have nothing to stream, and delays contradict it."""
    name, *others = task.split()
    settings = [f"mephisto.blueprint.{setting}" for setting in ["replies.streaming=true", *others]]
    done = CliRunner().invoke(launch, [name, *settings, "port=0", "--data-dir", str(tmp_path / "data")])
    assert done.exit_code in (1, 2)
    assert said in " ".join(done.output.split())
