"""Pictures in a real browser: attached by keyboard and mouse, described, shown in replies of every technique, on record."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image, ImageDraw
from playwright.sync_api import FilePayload, expect

from mephisto_tasks.storage.locks import image_store

from .axe import violations
from .rater import Hand, Rater
from .study import Study

pytestmark = pytest.mark.browser

DRAWS = """
import base64, io
from PIL import Image, ImageDraw

def {name}(history):
    image = Image.new("RGB", (640, 400), "{sky}")
    ImageDraw.Draw(image).ellipse((220, 100, 420, 300), fill="{sun}")
    file = io.BytesIO()
    image.save(file, "PNG")
    url = "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
    seen = sum(len(turn.images) for turn in history)
    return {{"text": f"I have seen {{seen}} pictures. Here is mine, {sun} on {sky}.",
            "images": [{{"url": url, "alt": "A {sun} circle on {sky}"}}, "https://tracker.example/pixel.png"]}}
"""


def photo() -> bytes:
    image = Image.new("RGB", (1200, 900), "skyblue")
    ImageDraw.Draw(image).polygon([(300, 700), (900, 700), (600, 200)], fill="white")
    file = BytesIO()
    image.save(file, "JPEG", comment=b"SECRET PLACE")
    return file.getvalue()


def launch(folder: Path, task: str, models: list[str], *settings: str) -> Study:
    folder.mkdir()
    entries = []
    for name, sky, sun in (("dawn", "navy", "gold"), ("dusk", "maroon", "orange")):
        (folder / f"{name}.py").write_text(DRAWS.format(name=name, sky=sky, sun=sun))
        agent = "parlai_humaneval.agents.callable:CallableAgent"
        entries.append(f"  {name}: {{options: {{model: '{agent}', function: '{name}.py:{name}', images: true}}}}")
    (folder / "zoo.yaml").write_text("\n".join(["models:", *entries]) + "\n")
    common = [f"zoo_files=[{folder / 'zoo.yaml'}]", f"models=[{','.join(models)}]", "images=both", "turns=1"]
    common += ["dialogues_per_group=2", "first_message=", "onboarding_qualification=null", "persona=false"]
    return Study(folder / "run", f"pictures-{task}", [*common, *settings], task=task)


def attach(rater: Rater, name: str, kind: str, content: bytes) -> None:
    button = rater.page.get_by_role("button", name="Add a picture")
    with rater.page.expect_file_chooser() as chosen:
        if rater.hand == "keyboard":
            rater.tab_to(button)
            rater.page.keyboard.press("Enter")
        else:
            button.click()
    chosen.value.set_files(FilePayload(name=name, mimeType=kind, buffer=content))


@pytest.mark.parametrize(
    ("task", "models", "hand", "replies"),
    [
        ("pw_turn", ["dawn", "dusk"], "keyboard", 2),
        ("arena", ["dawn", "dusk"], "mouse", 2),
        ("sata", ["dawn", "dusk"], "mouse", 2),
        ("single_model", ["dawn"], "finger", 1),
        ("free_for_all", ["dawn", "dusk"], "mouse", 2),
    ],
)
def test_a_picture_goes_there_and_others_come_back(
    visit: Callable[..., Rater], tmp_path: Path, task: str, models: list[str], hand: Hand, replies: int
) -> None:
    settings = ["group_size=2"] if task == "free_for_all" else ["setting=soba"] if task == "sata" else []
    study = launch(tmp_path / "study", task, models, *settings)
    try:
        study.wait_until_up()
        rater = visit(study.url, hand)
        page = rater.page
        worker = rater.start_from_preview()
        rater.sees_task()
        rater.may_write()
        rater.watch.excuse("status of 422")  # Chromium says so of every refused request
        attach(rater, "notes.png", "image/png", b"no picture")
        expect(page.get_by_role("alert")).to_have_text(
            "This picture cannot be read. Please choose a PNG, JPEG or WebP file."
        )
        attach(rater, "boat.jpg", "image/jpeg", photo())
        field = page.get_by_label("Describe the picture, for people who cannot see it")
        expect(field).to_be_visible()
        page.locator("#message").fill("What do you see in my picture?")
        rater.send("Send")
        expect(page.get_by_text("Your description is still empty.")).to_be_visible()
        field.fill("A white sail on blue water")
        rater.picture(f"{task}-attached")
        assert violations(page) == []
        rater.send("Send")
        own = page.get_by_role("log").get_by_role("img", name="A white sail on blue water")
        expect(own).to_be_visible()
        shown = page.get_by_role("img", name="circle on")
        expect(shown).to_have_count(replies)
        for image in shown.all():
            assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") == 640
        rater.picture(f"{task}-replies")
        assert violations(page) == []
        (record,) = study.records_of(worker)
        (turn,) = record.turns
        (sent,) = turn.human_images
        assert (sent.alt, sent.width, sent.height) == ("A white sail on blue water", 1200, 900)
        folder = image_store(study.data_dir, study.task_name).folder
        assert b"SECRET" not in (folder / f"{sent.digest}.jpg").read_bytes()
        assert all("I have seen 1 pictures" in candidate.text for candidate in turn.candidates)
        assert all(len(candidate.images) == 1 == len(candidate.images_left_out) for candidate in turn.candidates)
        page.close()
    finally:
        study.stop()
