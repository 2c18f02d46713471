"""PW-Dialog over real pages: two finished dialogues side by side, and what is stored of a rater's answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from judging_hands import (
    LONG,
    SHORT,
    TERSE,
    WORDY,
    Judge,
    agent_status,
    chats,
    judged_texts,
    judgements,
    launch_study,
    one_unit,
    page_config,
    panel_texts,
    says,
    study_beside,
    told_of,
)
from live import REASON, composed, eventually

from mephisto_tasks.adapter.blueprint import build_study
from mephisto_tasks.admission.admission import DONE_ALL
from mephisto_tasks.admission.visits import only_closing
from mephisto_tasks.annotation import build
from mephisto_tasks.annotation.study import AnnotationStudy
from mephisto_tasks.launch.launch import RunningStudy
from mephisto_tasks.launch.preparation import checked_settings
from parlai_humaneval.schema.steps import FormStep, Progress

QUESTION = "Who would you prefer to talk to for a long conversation?"


def two_files(folder: Path, dialogues: int = 4) -> list[str]:
    return [
        chats(folder, WORDY, says(LONG), dialogues=dialogues),
        chats(folder, TERSE, says(SHORT), dialogues=dialogues),
    ]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStudy]:
    folder = tmp_path_factory.mktemp("pairs")
    settings = {"dialogues": two_files(folder, 6), "judgements_per_group": 36, "items_per_unit": 2}
    with launch_study(folder / "data", "pw_dialog", **settings) as run:
        yield run


async def test_a_pair_on_the_page(run: RunningStudy) -> None:
    """Both dialogues whole, the model marked in each as Speaker 1 and 2, the published question, and where one is."""
    async with Judge(run, "looks") as rater:
        state = await rater.state()
        await rater.whole_unit()
    assert [(panel.title, panel.judged_label) for panel in state.panels] == [
        ("Conversation 1", "Speaker 1"),
        ("Conversation 2", "Speaker 2"),
    ]
    for number, panel in enumerate(state.panels, start=1):
        assert len(panel.lines) == 6
        assert [line.judged for line in panel.lines] == [False, True] * 3
        assert {line.speaker for line in panel.lines} == {f"Speaker {number}", "Partner"}
        assert panel.context == []
    assert sorted(text.partition(" (")[0] for panel in state.panels for text in judged_texts(panel)[:1]) == [
        SHORT,
        LONG,
    ]
    assert state.progress == Progress(unit="pair", current=1, total=2)
    assert (state.transcript, state.columns, state.phase) == ([], [], "task")
    step = state.step
    assert isinstance(step, FormStep)
    (question,) = step.questions
    assert question.text == QUESTION
    assert [option.label for option in question.options] == ["Speaker 1", "Speaker 2"]
    assert question.reason is not None
    assert question.reason.min_words == 3


async def test_what_is_stored(run: RunningStudy) -> None:
    """Sides, models, answers, reasons and times of both items, under one session."""
    async with Judge(run, "stored") as rater:
        first = await rater.state()
        second = await rater.fill("It asks me back.", preference="second")
        await rater.fill("The other repeats itself.", preference="first")
        await rater.hand_in("A comment.")
        one, two = rater.judgements(run)
    for record, state, option, reason in (
        (one, first, "second", "It asks me back."),
        (two, second, "first", "The other repeats itself."),
    ):
        assert (record.technique, record.setting, record.metric) == ("pw_dialog", "human_bot", "preference")
        assert (record.status, record.expected, record.group) == ("complete", None, [WORDY, TERSE])
        assert [[line.text for line in shown.lines] for shown in record.dialogues] == panel_texts(state)
        assert [(shown.position, shown.judged, shown.kind) for shown in record.dialogues] == [
            (1, 1, "human_bot"),
            (2, 1, "human_bot"),
        ]
        assert sorted(shown.entities[1] for shown in record.dialogues) == [TERSE, WORDY]
        assert {shown.entities[0] for shown in record.dialogues} == {"human"}
        for shown in record.dialogues:
            assert shown.dialogue_id.startswith(shown.entities[1])
            assert Path(shown.source).name == f"{shown.entities[1]}.jsonl"
        (answer,) = record.answers
        assert (answer.question_id, answer.option, answer.reason) == ("preference", option, reason)
        assert record.started_at <= answer.at <= (record.finished_at or 0)
        assert 0 <= answer.seconds <= answer.at - record.started_at
        assert record.questions[0].text == QUESTION
        assert record.settings["study_seed"] == 5
    assert one.session == two.session
    assert [(record.number, record.numbers) for record in (one, two)] == [(1, 2), (2, 2)]
    assert [record.feedback for record in (one, two)] == [None, "A comment."]
    assert len({record.judgement_id for record in (one, two)}) == 2


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"values": {"preference": WORDY}, "reasons": {"preference": REASON}}, "You were not shown that"),
        ({"values": {"humanness": "first"}, "reasons": {"preference": REASON}}, "You were not shown that question"),
        ({"values": {}, "reasons": {}}, "one still has no answer"),
        ({"values": {"preference": "first"}, "reasons": {"preference": "no"}}, "at least 3 words"),
        ({"values": {"preference": "first"}}, "at least 3 words"),
        ({"kind": "rank", "ranks": {"first": 1}}, "different kind of answer"),
        ({"kind": "choose", "selected": ["first"]}, "different kind of answer"),
        ({"step_id": "form-2", "values": {"preference": "first"}}, "belongs to an earlier step"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_forged_answer_is_refused_and_changes_nothing(
    run: RunningStudy, answer: dict[str, object], said: str
) -> None:
    """The step stays, the refusal is written down, and the right answer after it counts. The rater leaves then."""
    async with Judge(run, "forger") as rater:
        assert said in await rater.refused(**answer)
        before = rater.judgements(run)[-1]
        assert before.answers == []
        assert before.refused_answers >= 1


async def test_a_reload_in_mid_item_finds_its_place(run: RunningStudy) -> None:
    async with Judge(run, "reloads") as rater:
        before = await rater.fill()
    async with Judge(run, "reloads") as rater:
        assert await rater.state() == before
        await rater.whole_unit()
        assert [record.status for record in rater.judgements(run)] == ["complete"] * 2


async def test_an_answer_sent_twice_counts_once(run: RunningStudy) -> None:
    async with Judge(run, "twice") as rater:
        step = (await rater.state()).step
        assert isinstance(step, FormStep)
        answer = {
            "kind": "form",
            "update_id": "same",
            "step_id": step.step_id,
            "values": {"preference": "first"},
            "reasons": {"preference": REASON},
        }
        await rater.send(**answer)
        await rater.client.answer(answer)
        await rater.whole_unit()
        assert [len(record.answers) for record in rater.judgements(run)] == [1, 1]


async def test_nothing_of_the_models_reaches_the_page(run: RunningStudy) -> None:
    """In no state, nowhere in the words of the page, not even where a dialogue came from."""
    async with Judge(run, "nosy") as rater:
        await rater.whole_unit()
        heard = [*rater.client.heard, page_config(run)]
    assert SHORT in "".join(heard), "the pages were overheard"
    assert told_of(heard, [WORDY, TERSE, ".jsonl", "human_bot", "entities", "swapped", "item_id"]) == []


async def test_nobody_meets_a_dialogue_twice(tmp_path: Path) -> None:
    """Four dialogues of each model are four pairs for one worker, however many units; then there is no other for them."""
    settings = {"dialogues": two_files(tmp_path), "judgements_per_group": 16, "items_per_unit": 3}
    met: list[str] = []
    async with study_beside(tmp_path / "data", "pw_dialog", **settings) as run:
        for visit in range(2):
            async with Judge(run, "regular", f"visit-{visit}") as rater:
                await rater.whole_unit()
                met += [shown.dialogue_id for record in rater.judgements(run) for shown in record.dialogues]
                await eventually(lambda: agent_status(run, rater) == "completed")
        assert len(met) == len(set(met)) == 8
        async with Judge(run, "regular", "visit-3") as rater:
            assert rater.client.refused == only_closing(DONE_ALL)


async def test_one_item_of_a_pair_of_models_where_the_paper_says_so(tmp_path: Path) -> None:
    """Smith et al. 2022, App. B.3: a worker judges one pair for each two models and metric."""
    settings = {
        "dialogues": two_files(tmp_path),
        "judgements_per_group": 3,
        "items_per_unit": 1,
        "items_per_worker_and_group": 1,
    }
    async with study_beside(tmp_path / "data", "pw_dialog", **settings) as run:
        (record,) = await one_unit(run, "once")
        assert (record.number, record.numbers) == (1, 1)
        await eventually(lambda: not run.live_run.task_runner.running_units)
        async with Judge(run, "once", "again") as rater:
            assert rater.client.refused == only_closing(DONE_ALL)
        assert len(judgements(run)) == 1


@pytest.mark.parametrize(
    ("recorded", "pairings"), [(None, 6), ({"pairing": "auto"}, 6), ({}, 36)], ids=["new", "of today", "of before"]
)
def test_dialogues_of_the_same_start_meet_but_in_studies_of_before(
    recorded: dict[str, str] | None, pairings: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards the pool of a study that began when all dialogues were compared with all: a relaunch goes on with it."""
    monkeypatch.setattr(build, "recorded_settings", lambda data_dir, task_name: recorded)
    asked = composed("pw_dialog", {"dialogues": two_files(tmp_path, 6), "judgements_per_group": 4})
    config = checked_settings("pw_dialog", asked)
    study = build_study(config, "pw_dialog", tmp_path / "data", "test", 0.0)
    assert isinstance(study, AnnotationStudy)
    assert len(study.items) == pairings


@pytest.mark.parametrize(("wordy", "drawn"), [("**Tea**, or", True), ("Tea, or", False)])
def test_markdown_in_finished_dialogues_is_drawn(wordy: str, drawn: bool, tmp_path: Path) -> None:
    """Guards dialogues of models that no zoo file knows: their lines tell how they are to be shown."""
    files = [chats(tmp_path, WORDY, says(wordy)), chats(tmp_path, TERSE, says(SHORT))]
    asked = composed("pw_dialog", {"dialogues": files, "judgements_per_group": 4})
    config = checked_settings("pw_dialog", asked)
    study = build_study(config, "pw_dialog", tmp_path / "data", "test", 0.0)
    assert (study.draws_markdown, study.config.replies.appearance == "markdown") == (drawn, drawn)
