"""Third parties: recorded conversations of every live technique, rated once more by somebody who was not there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import scripted_models
from hands import always
from judging_hands import (
    LONG,
    SHORT,
    TERSE,
    WORDY,
    Judge,
    chats,
    judged_turns,
    launch_study,
    page_config,
    panel_texts,
    said_before,
    says,
    study_beside,
    talked,
    told_of,
)

from parlai_humaneval.models.bot_speaker.bot_speaker import shown_cards, standing_for
from parlai_humaneval.schema.records import CriterionRecord, DialogueRecord, JudgementRecord
from parlai_humaneval.schema.steps import ChooseStep, PageState, Progress, RankStep, RateStep, TickStep
from parlai_humaneval.techniques.questions import DIMENSIONS, READ_AGAIN, VERDICTS

THIRD = "zz-third-model"
MODELS = [WORDY, TERSE, THIRD]
TALKS: dict[str, dict[str, Any]] = {
    "sata_user": {"task": "sata", "setting": "sata_user", "turns": 3, "dialogues": 3},
    "sata_random": {"task": "sata", "setting": "sata_random", "turns": 3, "dialogues": 3},
    "soba": {"task": "sata", "setting": "soba", "turns": 3},
    "pw_turn": {"task": "pw_turn"},
    "single_model": {"task": "single_model"},
    "free_for_all": {"task": "free_for_all", "models": MODELS, "group_size": 3},
    "direct_assessment": {"task": "direct_assessment", "quality_control_model": "", "conversations_per_unit": 2},
    "arena": {"task": "arena", "turns": 1},
}
"""What people talked about, by the name of the task."""


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data directory in which people have talked to models by every live technique."""
    always({WORDY: LONG, TERSE: SHORT, THIRD: "Really?"})
    folder = tmp_path_factory.mktemp("third") / "data"
    for name, settings in TALKS.items():
        task = str(settings["task"])
        _TALKED[folder, name] = talked(folder, task, name, **{key: settings[key] for key in settings if key != "task"})
    yield folder
    scripted_models.SCRIPTS.clear()


_TALKED: dict[tuple[Path, str], list[DialogueRecord]] = {}


def lived(data_dir: Path, name: str) -> list[DialogueRecord]:
    """The dialogues of a live task."""
    found = _TALKED[data_dir, name]
    assert {record.status for record in found} == {"complete"}
    return found


class Replayed:
    """All dialogues of a live task, judged again by one rater in one unit; which answers were given does not matter."""

    def __init__(self, data_dir: Path, name: str, **settings: Any) -> None:
        self.own = {record.dialogue_id: record for record in lived(data_dir, name)}
        self._data_dir = data_dir
        self._settings = {"dialogues": [{"task": name}], "items_per_unit": 99, "task_name": f"again-{name}", **settings}

    async def run(self) -> list[tuple[JudgementRecord, list[PageState]]]:
        """What is stored of each judgement, and the states that asked."""
        async with study_beside(self._data_dir, "third_party", **self._settings) as run:
            async with Judge(run, "third") as rater:
                asked = await rater.whole_unit()
                found = rater.judgements(run)
            self.heard = [*rater.client.heard, page_config(run)]
        at = {
            record.number: [s for s in asked if s.progress and s.progress.current == record.number] for record in found
        }
        return [(record, at[record.number]) for record in found]

    def original(self, record: JudgementRecord) -> DialogueRecord:
        """The dialogue that was judged again."""
        name = record.dialogues[0].dialogue_id
        return next(own for known, own in self.own.items() if name == known or name.startswith(f"{known}:"))


@pytest.mark.parametrize("name", ["sata_user", "sata_random", "soba", "pw_turn", "free_for_all"])
async def test_choices_are_asked_again_turn_by_turn(data_dir: Path, name: str) -> None:
    """The same context, question and replies in the same order; nothing of this turn's answer; stored with the own one's."""
    again = Replayed(data_dir, name)
    found = await again.run()
    assert len(found) == len(again.own)
    for record, states in found:
        own = again.original(record)
        turns = judged_turns(own)
        assert len(states) == len(turns) == len(record.answers)
        for number, (turn, state, answer) in enumerate(zip(turns, states, record.answers, strict=True), start=1):
            assert panel_texts(state) == [said_before(own, turn)]
            assert state.within == Progress(unit="turn", current=number, total=len(turns))
            step = state.step
            assert isinstance(step, ChooseStep)
            assert step.question == READ_AGAIN.get(own.question, own.question)
            cards = shown_cards(turn.candidates)
            assert [(card.candidate_id, card.text) for card in step.cards] == [(c.candidate_id, c.text) for c in cards]
            assert turn.written is None or turn.written not in state.model_dump_json()
            assert step.reason is None
            assert (answer.question_id, answer.turn) == ("turn", turn.turn)
            assert answer.selected == standing_for(turn.candidates, cards[0].candidate_id)
            assert answer.none_said is False
        shown = record.dialogues[0].replayed
        assert shown is not None
        assert (shown.technique, shown.question, shown.worker) == (own.technique, own.question, own.worker)
        assert [turn.selected for turn in shown.turns if turn.complete] == [
            turn.selected for turn in own.complete_turns
        ]
    if name == "sata_user":
        assert any(turn.written for own in again.own.values() for turn in own.turns), "a written turn is among them"
    reasons = [turn.reason for own in again.own.values() for turn in own.turns if turn.reason]
    assert told_of(again.heard, [*MODELS, *reasons, '"selected"', '"replayed"', '"continued"']) == []


async def test_how_many_may_be_chosen_is_as_it_was(data_dir: Path) -> None:
    """One where one had to be selected; none, some or all where that was allowed."""
    limits = {}
    for name in ("soba", "sata_random"):
        for _, states in await Replayed(data_dir, name, task_name=f"limits-{name}").run():
            for state in states:
                assert isinstance(state.step, ChooseStep)
                limits[name] = (state.step.min_choices, state.step.max_choices, bool(state.step.none_label))
    assert limits == {"soba": (1, 1, False), "sata_random": (0, 2, True)}


async def test_none_of_the_replies_is_an_answer(data_dir: Path) -> None:
    settings = {"dialogues": [{"task": "sata_random"}], "items_per_unit": 1, "task_name": "none-again"}
    async with study_beside(data_dir, "third_party", **settings) as run, Judge(run, "strict") as rater:
        while (await rater.state()).step.kind == "choose":
            await rater.pick()
        await rater.hand_in()
        (record,) = rater.judgements(run)
    assert {(answer.none_said, tuple(answer.selected)) for answer in record.answers} == {(True, ())}


def _read_again(criteria: Sequence[CriterionRecord]) -> list[str]:
    """What a reader is asked, who has no partner."""
    words = [READ_AGAIN.get(one.text, one.text) for one in criteria]
    assert not [text for text in words if "your partner" in text]
    return words


async def test_ticks_and_scores_of_a_single_model(data_dir: Path) -> None:
    again = Replayed(data_dir, "single_model")
    for record, states in await again.run():
        own = again.original(record)
        *at_turns, last = states
        assert len(at_turns) == len(own.turns)
        for turn, state, answer in zip(own.turns, at_turns, record.answers, strict=False):
            assert isinstance(state.step, TickStep)
            assert state.step.reply is not None
            assert state.step.reply.text == turn.candidates[0].text
            assert state.step.question == READ_AGAIN.get(own.question, own.question)
            assert [option.label for option in state.step.options] == _read_again(own.turn_criteria)
            assert panel_texts(state) == [said_before(own, turn)]
            assert (answer.question_id, answer.turn, answer.selected) == ("turn", turn.turn, ["engaging"])
        assert isinstance(last.step, RateStep)
        assert [scale.statement for scale in last.step.scales] == _read_again(own.criteria)
        assert last.within is None
        final = record.answer("final")
        assert final is not None
        assert final.ratings == {one.name: one.maximum for one in own.criteria}
        replayed = record.dialogues[0].replayed
        assert replayed is not None
        assert replayed.final_ratings == own.final_ratings
        assert [turn.ticks for turn in replayed.turns] == [turn.ticks for turn in own.turns]
    assert told_of(again.heard, [*MODELS, "final_ratings", '"ticks"']) == []


async def test_sliders_of_direct_assessment(data_dir: Path) -> None:
    """Nothing is asked at the turns; the whole conversation is rated on the scales of then."""
    again = Replayed(data_dir, "direct_assessment")
    found = await again.run()
    assert len(found) == len(again.own)
    for record, (state,) in found:
        own = again.original(record)
        assert isinstance(state.step, RateStep)
        assert [(scale.style, scale.statement) for scale in state.step.scales] == [
            ("slider", one.text) for one in own.criteria
        ]
        assert len(state.panels[0].lines) == len(own.context.opening) + 2 * len(own.turns)
        (answer,) = record.answers
        assert (answer.question_id, set(answer.ratings)) == ("final", {one.name for one in own.criteria})


async def test_two_partners_of_the_arena(data_dir: Path) -> None:
    """Side by side as then, A left and B right, one verdict; whose it was is known from the record."""
    again = Replayed(data_dir, "arena")
    found = await again.run()
    assert len(found) == len(again.own)
    for record, (state,) in found:
        own = again.original(record)
        assert [panel.title for panel in state.panels] == [f"Conversation with partner {side}" for side in "AB"]
        assert isinstance(state.step, TickStep)
        assert [option.option_id for option in state.step.options] == list(VERDICTS)
        assert state.step.question == READ_AGAIN.get(own.question, own.question)
        for place, shown in enumerate(record.dialogues, start=1):
            model = next(c.model for c in own.turns[0].candidates if c.position == place)
            assert shown.position == place
            assert model in shown.entities
            replies = [next(c.text for c in turn.candidates if c.model == model) for turn in own.turns]
            assert panel_texts(state)[place - 1][1::2] == replies
        (answer,) = record.answers
        assert (answer.question_id, answer.selected) == ("verdict", ["a"])
        replayed = record.dialogues[0].replayed
        assert replayed is not None
        assert (replayed.verdict, replayed.verdict_model) == (own.verdict, own.verdict_model)
    assert told_of(again.heard, [*MODELS, "verdict_model"]) == []


@pytest.mark.parametrize("ties", [False, True])
async def test_the_replies_of_a_turn_are_ranked(data_dir: Path, ties: bool) -> None:
    """Ma et al. 2023, §3.2: every model's reply on one context gets a place; with ties two may share one."""
    name = "free_for_all"
    settings = {
        "dialogues": [{"task": name}],
        "show": "turn",
        "metric": "rank",
        "ties": ties,
        "items_per_unit": 1,
        "task_name": f"rank-{ties}",
    }
    async with study_beside(data_dir, "third_party", **settings) as run, Judge(run, f"ranks-{ties}") as rater:
        turns = sum(len(shown_cards(t.candidates)) > 1 for own in lived(data_dir, name) for t in own.complete_turns)
        assert len(run.study.items) == turns
        state = await rater.state()
        assert isinstance(state.step, RankStep)
        ids = [card.candidate_id for card in state.step.cards]
        equal = dict.fromkeys(ids, 1)
        if ties:
            await rater.rank(1, 2, 1)
        else:
            assert "have the same rank" in await rater.refused(ranks=equal)
            await rater.rank(2, 3, 1)
        await rater.hand_in()
        (record,) = rater.judgements(run)
    assert state.step.ties == ties
    (answer,) = record.answers
    assert answer.ranks == dict(zip(ids, (1, 2, 1) if ties else (2, 3, 1), strict=True))
    own = next(one for one in lived(data_dir, name) if one.dialogue_id == record.dialogues[0].dialogue_id)
    turn = next(one for one in own.turns if one.turn == answer.turn)
    assert sorted(ids) == sorted(candidate.candidate_id for candidate in turn.candidates)
    assert panel_texts(state) == [said_before(own, turn)], "nothing that came after"
    assert told_of(rater.client.heard, MODELS) == []


@pytest.mark.parametrize("source", ["task", "file"])
async def test_whole_dialogues_on_scales_that_say_what_points_mean(data_dir: Path, source: str) -> None:
    """Ma et al. 2023, Table 3: hints beside each point; the model is marked, whatever the dialogue came from."""
    entry: Any = {"task": "single_model"} if source == "task" else chats(data_dir, "zz-of-a-file", says(LONG))
    settings = {
        "dialogues": [entry],
        "show": "whole",
        "metric": "dimensions",
        "scales": ["coherence", "overall"],
        "items_per_unit": 1,
        "judgements_per_item": 3,
        "task_name": f"whole-{source}",
    }
    async with study_beside(data_dir, "third_party", **settings) as run, Judge(run, f"scales-{source}") as rater:
        state = await rater.state()
        step = state.step
        assert isinstance(step, RateStep)
        assert [(scale.scale_id, scale.maximum, len(scale.hints)) for scale in step.scales] == [
            ("coherence", 3, 3),
            ("overall", 5, 5),
        ]
        assert tuple(step.scales[0].hints) == DIMENSIONS["coherence"].hints
        (panel,) = state.panels
        assert panel.judged_label == "Partner"
        assert {line.speaker for line in panel.lines if line.judged} == {"Partner"}
        assert {line.speaker for line in panel.lines} == {"Person", "Partner"}
        assert "between 1 and 3" in await rater.refused(values={"coherence": 4, "overall": 5})
        assert "one of the points" in await rater.refused(values={"coherence": 2.5, "overall": 5})
        await rater.rate(2, 5)
        await rater.hand_in()
        (record,) = rater.judgements(run)
    (answer,) = record.answers
    assert (answer.question_id, answer.ratings) == ("rate", {"coherence": 2, "overall": 5})
    assert [criterion.scale for criterion in record.questions[0].criteria] == ["points", "points"]
    assert told_of(rater.client.heard, [*MODELS, "zz-of-a-file"]) == []


def test_a_sample_is_drawn_and_stays_the_same_over_launches(data_dir: Path) -> None:
    """Two of three dialogues; without a seed of one's own, too, a second launch goes on with the same two."""
    drawn = []
    for _ in range(4):
        settings = {"dialogues": [{"task": "sata_user"}], "sample": 2, "seed": None, "task_name": "sampled"}
        with launch_study(data_dir, "third_party", **settings) as run:
            drawn.append(sorted(run.study.items))
    assert [len(items) for items in drawn] == [2] * 4
    assert len({json.dumps(items) for items in drawn}) == 1
