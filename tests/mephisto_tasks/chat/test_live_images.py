"""Pictures in a conversation: a person sends one, models see it and answer with some, and the record has their files."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from judging_hands import Judge, study_beside
from live import Launch, Rater, composed, launch, records
from PIL import Image

from mephisto_tasks.config.names import ConfigError
from mephisto_tasks.launch.launch import RunningStudy
from mephisto_tasks.privacy.erase import forget
from mephisto_tasks.privacy.erase_traces import all_going
from mephisto_tasks.privacy.release import Wanted, release
from mephisto_tasks.storage.locks import image_store
from mephisto_tasks.storage.logs import JUDGE_ANSWERS
from mephisto_tasks.workers.roster import known_workers
from parlai_humaneval.display.images import NO_ALT
from parlai_humaneval.schema.judge_answers import JudgeAnswer
from parlai_humaneval.schema.steps import ChooseStep, MessageStep
from parlai_humaneval.tables.build import tables
from parlai_humaneval.tables.files import read_tables
from parlai_humaneval.viewer.write import is_built

MODELS = """
SEEN = []

def {name}(history):
    SEEN.append([len(turn.images) for turn in history])
    return {{"text": "{name} looked at %d pictures" % sum(map(sum, SEEN[-1:])), "images": [{{"url": "{url}"}}]}}
"""


def png(color: str, size: tuple[int, int] = (40, 30)) -> bytes:
    file = BytesIO()
    Image.new("RGB", size, color).save(file, "PNG")
    return file.getvalue()


def seeing_models(folder: Path, *, images: bool = True) -> dict[str, Any]:
    """Settings of a study whose two models see pictures, and answer with one each."""
    folder.mkdir(parents=True, exist_ok=True)
    options: dict[str, Any] = {}
    for name, color in (("red", "red"), ("blue", "blue")):
        url = f"data:image/png;base64,{base64.b64encode(png(color)).decode()}"
        (folder / f"{name}.py").write_text(MODELS.format(name=name, url=url))
        agent = {"model": "parlai_humaneval.agents.callable:CallableAgent", "function": f"{name}.py:{name}"}
        options[name] = {"options": {**agent, "images": images}, "source": "a test"}
    (folder / "seeing.yaml").write_text(yaml.safe_dump({"models": options}))
    return {"models": ["red", "blue"], "zoo_files": [str(folder / "seeing.yaml")], "turns": 2, "dialogues_per_group": 1}


async def upload(rater: Rater, content: bytes) -> tuple[int, dict[str, Any]]:
    headers = {"X-Agent-Id": str(rater.client.agent_id), "X-Agent-Token": str(rater.client.agent_token)}
    url = f"{rater.url}/upload_image"
    async with aiohttp.ClientSession() as session, session.post(url, data=content, headers=headers) as response:
        return response.status, await response.json()


async def size_of(run: RunningStudy, digest: str) -> tuple[int, int]:
    async with aiohttp.ClientSession() as session, session.get(f"{run.url}/images/{digest}.jpg") as response:
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        return Image.open(BytesIO(await response.read())).size


async def test_pictures_of_both_sides_are_seen_shown_and_on_record(start: Launch, tmp_path: Path) -> None:
    async with start(**seeing_models(tmp_path / "zoo"), images="both", first_message="") as run, Rater(run) as rater:
        step = (await rater.state()).step
        assert isinstance(step, MessageStep)
        assert step.max_images == 3
        status, sent = await upload(rater, png("green"))
        assert status == 200
        message = {"kind": "message", "step_id": step.step_id, "text": "What do you see?"}

        async def refused(*images: dict[str, str]) -> str:
            state = await rater.send(**message, images=list(images))
            assert state.notice is not None
            return state.notice.text

        digest = sent["digest"]
        assert "describe your picture" in await refused({"digest": digest, "alt": " … "})
        assert "no longer available" in await refused({"digest": "0" * 64, "alt": "a field"})
        assert "no longer available" in await refused({"digest": "../../database", "alt": "a field"})
        assert "at most 3 pictures" in await refused(*[{"digest": digest, "alt": "a field"}] * 4)
        await rater.send(**message, images=[{"digest": digest, "alt": " a green field "}])
        choose = (await rater.state()).step
        assert isinstance(choose, ChooseStep)
        assert sorted(card.text for card in choose.cards) == [
            f"{name} looked at 1 pictures" for name in ("blue", "red")
        ]
        assert {card.images[0].alt for card in choose.cards} == {NO_ALT}
        assert await size_of(run, choose.cards[0].images[0].digest) == (40, 30)
        (mine,) = rater.newest.transcript
        assert [(image.digest, image.alt) for image in mine.images] == [(digest, "a green field")]
        await rater.choose()
        assert rater.newest.transcript[-1].images == choose.cards[0].images
        await rater.choose_after("And now?")
        (record,) = records(run)
        first, second = record.turns
        assert [image.model_dump() for image in first.human_images] == [
            {"digest": digest, "alt": "a green field", "width": 40, "height": 30}
        ]
        assert second.human_images == []
        # Models that share a history hear each other's pictures again: the person's, and that of the chosen reply.
        assert {candidate.text.split()[-2] for candidate in second.candidates} == {"2"}
        assert {len(candidate.images) for candidate in (*first.candidates, *second.candidates)} == {1}
        (told,) = set(tables([record]).turns["human_images"].dropna())
        assert json.loads(told) == [{"digest": digest, "alt": "a green field", "width": 40, "height": 30}]
        data, out = run.data_dir, tmp_path / "release"
        wanted = Wanted(
            [run.task_name], out, tmp_path / "review.csv", without_text="Signed forms.", with_viewer=is_built()
        )
        card = release(data, wanted).card
        assert "5 pictures of messages and replies." in card.left_out
        assert not list(out.rglob("*.jpg"))
        published = "".join(path.read_text() for path in out.rglob("*") if path.suffix in (".csv", ".js", ".json"))
        assert "a green field" in published
        assert digest not in published, "whoever knows it could see the picture while the study is served"
        release(data, replace(wanted, with_images=True, force=True))
        assert len(list(out.glob("*.jpg"))) == 3
        assert len(list((out / "viewer").rglob("*.jpg"))) == (3 if is_built() else 0)
        assert read_tables(out).turns["dialogue_id"].iloc[0] in (out / "images.csv").read_text()
        assert all(path.stem in (out / "SHA256SUMS").read_text() for path in out.glob("*.jpg"))
        kept = {path.stem for path in image_store(run.data_dir, run.task_name).folder.iterdir()}
        assert kept == {digest, *(image.digest for candidate in first.candidates for image in candidate.images)}


async def test_a_conversation_that_was_cut_off_goes_on_with_its_pictures(start: Launch, tmp_path: Path) -> None:
    settings = {**seeing_models(tmp_path / "zoo"), "images": "both", "first_message": ""}
    async with start(**settings) as run, Rater(run) as rater:
        step = (await rater.state()).step
        assert isinstance(step, MessageStep)
        _, sent = await upload(rater, png("green"))
        images = [{"digest": sent["digest"], "alt": "a green field"}]
        await rater.send(kind="message", step_id=step.step_id, text="Look!", images=images)
        await rater.state()
        await rater.choose()
    async with start(**settings) as run, Rater(run) as rater:
        await rater.state()
        before = rater.newest.transcript
        assert [len(entry.images) for entry in before] == [1, 1]
        step = (await rater.write("And now?")).step
        assert isinstance(step, ChooseStep)
        assert {card.text.split()[-2] for card in step.cards} == {"2"}


async def test_without_the_setting_nothing_is_asked_for_and_none_is_taken(start: Launch, tmp_path: Path) -> None:
    async with start(**seeing_models(tmp_path / "zoo"), first_message="") as run, Rater(run) as rater:
        step = (await rater.state()).step
        assert isinstance(step, MessageStep)
        assert step.max_images == 0
        assert (await upload(rater, png("green")))[0] in (404, 405)
        message = {"kind": "message", "step_id": step.step_id, "text": "Look!"}
        state = await rater.send(**message, images=[{"digest": "0" * 64, "alt": "a"}])
        assert state.notice is not None
        assert state.notice.text == "Pictures cannot be sent here. Please remove them."
        await rater.send(**message)
        step = (await rater.state()).step
        assert isinstance(step, ChooseStep)
        assert all(not card.images for card in step.cards)
        assert not image_store(run.data_dir, run.task_name).folder.exists()


@pytest.mark.parametrize("images", ["people", "models", "both"])
def test_models_that_take_no_pictures_are_refused_before_anything_starts(tmp_path: Path, images: str) -> None:
    settings = {**seeing_models(tmp_path / "zoo", images=False), "images": images}
    with pytest.raises(ConfigError, match="red, blue take no pictures"), launch(tmp_path / "data", **settings):
        pass


def test_the_setting_is_a_word_of_four(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="images"), launch(tmp_path / "data", images="everybody"):
        pass
    assert json.loads(json.dumps(composed("pw_turn", {"models": ["a", "b"]}).mephisto.blueprint.images)) == "none"


async def test_who_is_forgotten_takes_their_pictures_and_leaves_those_of_others(start: Launch, tmp_path: Path) -> None:
    settings = {**seeing_models(tmp_path / "zoo"), "images": "people", "first_message": "", "dialogues_per_group": 2}
    async with start(**settings) as run:
        digests = {}
        for worker, colors in (("w1", ("green", "gray")), ("w2", ("green", "black"))):
            async with Rater(run, worker) as rater:
                step = (await rater.state()).step
                assert isinstance(step, MessageStep)
                for color in colors:
                    digests[color] = (await upload(rater, png(color)))[1]["digest"]
                images = [{"digest": digests[color], "alt": color} for color in colors]
                await rater.send(kind="message", step_id=step.step_id, text="Look!", images=images)
                state = await rater.state()
                assert isinstance(state.step, ChooseStep)
                assert all(not card.images for card in state.step.cards)  # models send none in this study
    folder = image_store(run.data_dir, run.task_name).folder
    assert {path.stem for path in folder.iterdir()} == set(digests.values())
    workers = [known for known in known_workers(run.data_dir).values() if known.name.startswith("w1")]
    forgotten = forget(run.data_dir, all_going(run.data_dir, workers, None))
    assert [one.left_over for one in forgotten] == [[]]
    assert {path.stem for path in folder.iterdir()} == {digests["green"], digests["black"]}


async def test_raters_of_finished_dialogues_see_the_pictures(start: Launch, tmp_path: Path) -> None:
    settings = {**seeing_models(tmp_path / "zoo"), "images": "both", "first_message": "", "turns": 1}
    async with start(**settings, task_name="talks") as run, Rater(run, "w1") as rater:
        step = (await rater.state()).step
        assert isinstance(step, MessageStep)
        _, sent = await upload(rater, png("green"))
        images = [{"digest": sent["digest"], "alt": "a green field"}]
        await rater.send(kind="message", step_id=step.step_id, text="Look!", images=images)
        await rater.state()
        await rater.choose()
        await rater.finish()
        (talk,) = records(run)
    again = {"dialogues": [{"task": "talks"}], "items_per_unit": 1, "task_name": "again"}
    async with study_beside(run.data_dir, "third_party", **again) as judging, Judge(judging, "w2") as judge:
        state = await judge.state()
        assert [image.alt for line in state.panels[0].lines for image in line.images] == ["a green field"]
        assert isinstance(state.step, ChooseStep)
        shown = {image.digest for card in state.step.cards for image in card.images}
        assert shown == {image.digest for one in talk.turns[0].candidates for image in one.images}
        for digest in (sent["digest"], *shown):
            assert await size_of(judging, digest) == (40, 30)
        await judge.whole_unit()
    folders = [image_store(run.data_dir, task).folder for task in ("talks", "again")]
    assert [len(list(folder.iterdir())) for folder in folders] == [3, 3]
    workers = [known for known in known_workers(run.data_dir).values() if known.name.startswith("w1")]
    forget(run.data_dir, all_going(run.data_dir, workers, None))
    assert [list(folder.iterdir()) for folder in folders] == [[], []]


ALWAYS_FIRST = """
def reply(history):
    with open({heard!r}, "a") as file:
        print(len(history[-1].images), history[-1].text.count("[image: "), file=file)
    return '{{"answer": "A"}}'
"""


@pytest.mark.parametrize("sees", [True, False])
async def test_a_judge_in_the_rule_is_given_the_pictures_of_other_studies(
    start: Launch, tmp_path: Path, sees: bool
) -> None:
    """Guards `judge=`: asked before any rater comes, one that sees gets each picture, any other its description."""
    settings = {**seeing_models(tmp_path / "zoo"), "images": "models", "turns": 1, "dialogues_per_group": 2}
    async with start(task="single_model", task_name="talks", **settings) as run:
        for worker in ("w1", "w2", "w3", "w4"):
            async with Judge(run, worker) as rater:
                await rater.whole_unit()
    heard = tmp_path / "heard.txt"
    (tmp_path / "judge.py").write_text(ALWAYS_FIRST.format(heard=str(heard)))
    options = {"model": "parlai_humaneval.agents.callable:CallableAgent", "function": "judge.py:reply", "images": sees}
    (tmp_path / "judge.yaml").write_text(yaml.safe_dump({"name": "j", "model": {"options": options}}))
    deciding = {"stop": "decided", "margin": 0.3, "max_dialogues": 4, "judge": str(tmp_path / "judge.yaml")}
    talks = {"dialogues": [{"task": "talks"}], "items_per_unit": 1, "task_name": "pairs"}
    async with study_beside(run.data_dir, "pw_dialog", **talks, **deciding):
        pass
    assert heard.read_text().splitlines() == [f"{2 if sees else 0} 2"] * 8  # four pairings in both orders
    said = [line for line in JUDGE_ANSWERS.read(run.data_dir, "pairs") if isinstance(line, JudgeAnswer)]
    assert [answer.images_described for answer in said] == [0 if sees else 2] * 8
