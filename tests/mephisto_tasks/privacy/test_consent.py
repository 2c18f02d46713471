"""Consent: asked before anything else, in every place; kept by version; and of who says no, not a byte."""

from __future__ import annotations

import json
import logging
import re
import stat
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from judging_hands import page_config
from live import Launch, Rater, browser_of, eventually, launch, rows, whole_dialogue
from mturk_hands import Turker, mturk_at_home, on_mturk_beside, open_hits

from mephisto_tasks.crowds.link import crowd as reception
from mephisto_tasks.launch.launch import RunningStudy
from mephisto_tasks.simulation.page_client import PageClient
from mephisto_tasks.storage.locks import study_folder
from mephisto_tasks.storage.logs import CONSENTS, text_of
from parlai_humaneval._util.data_files import DataError, packaged
from parlai_humaneval.cli import main
from parlai_humaneval.materials.consent import load_consent

EXAMPLE = packaged("consent_example.yaml")
NO = "A1SAYSNO00001"
YES = "A2SAYSYES0002"
LINK = [
    "place=link",
    "mephisto.provider.panel=prolific",
    "mephisto.provider.completion_code=C1DONE",
    "mephisto.provider.no_consent_code=N3NO",
    "mephisto.architect.public_url=https://study.example.org",
]


def consent_file(folder: Path, version: str = "1.0", changes: str = "") -> str:
    """The packaged example under another version."""
    folder.mkdir(parents=True, exist_ok=True)
    text = (
        EXAMPLE.read_text()
        .replace('version: "1.0"', f'version: "{version}"')
        .replace('changes: ""', f"changes: {changes!r}")
    )
    path = folder / f"consent-{version}.yaml"
    path.write_text(text)
    return str(path)


def bytes_with(data_dir: Path, mark: str) -> list[str]:
    files = [path for path in data_dir.rglob("*") if path.is_file()]
    return [str(path.relative_to(data_dir)) for path in files if mark.encode() in path.read_bytes()]


def page(run: RunningStudy, worker: str, **more: Any) -> PageClient:
    return PageClient(run.url, worker_id=worker, assignment_id=f"a-{worker}", browser=browser_of(worker), **more)


async def test_who_says_no_is_nowhere_and_who_says_yes_is_kept_with_the_version(
    start: Launch, data_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Asked at registration, before any row is made; a reload asks for nothing; the text is kept once, word for word."""
    caplog.set_level(logging.DEBUG)
    async with start(consent_file=consent_file(data_dir.parent), onboarding_qualification="p") as run:
        async with page(run, NO, agrees=False) as client:
            details = await client.register()
            assert (details["agent_id"], details["screen"]) == (None, "consent")
            form = details["consent"]
            assert form["title"] == "Before you begin"
            assert form["agreed_before"] is None
            for wrong in ({"version": "1.0", "digest": "0" * 64}, {"version": "1.0"}, True, [form["version"]], "yes"):
                client._registration["consent"] = wrong
                assert (await client.register())["screen"] == "consent", wrong
        assert rows(data_dir, "SELECT worker_name FROM workers") == []
        assert any("the example's address" in remark for remark in run.study.remarks)
        async with Rater(run, YES) as rater:
            assert rater.client.agent_id is not None
            again = page(run, YES, agrees=False)
            async with again:
                assert (await again.register())["agent_id"] == rater.client.agent_id
    assert bytes_with(data_dir, NO) == []
    assert NO not in caplog.text
    (line,) = CONSENTS.read(data_dir, run.task_name)
    assert (line.version, line.digest) == ("1.0", form["digest"])
    assert re.fullmatch("w[0-9a-f]{12}", line.worker)
    kept = text_of(data_dir, run.task_name, line.digest)
    assert kept is not None
    assert kept.text == load_consent(EXAMPLE).text
    folder = study_folder(data_dir, run.task_name)
    assert stat.S_IMODE((folder / "consents.jsonl").stat().st_mode) == 0o600
    told = CliRunner().invoke(main, ["workers", "show", line.worker, "--data-dir", str(data_dir)]).output
    assert "to the consent text, version 1.0" in told


async def test_a_new_version_asks_again_and_says_what_is_new(start: Launch, data_dir: Path) -> None:
    """Of the next launch; who agreed to the same text before is not asked twice."""
    first = consent_file(data_dir.parent, "1.0")
    async with start(consent_file=first, dialogues_per_group=9) as run:
        await whole_dialogue(run, "back-again-1")
    async with (
        start(consent_file=first, dialogues_per_group=9) as run,
        page(run, "back-again-1", agrees=False) as client,
    ):
        assert "consent" not in await client.register()
    second = consent_file(data_dir.parent, "2.0", "Answers are kept for a year.")
    async with (
        start(consent_file=second, dialogues_per_group=9) as run,
        page(run, "back-again-1", agrees=False) as client,
    ):
        form = (await client.register())["consent"]
        assert (form["version"], form["agreed_before"], form["changes"]) == (
            "2.0",
            "1.0",
            "Answers are kept for a year.",
        )
        client._registration["consent"] = {"version": "1.0", "digest": CONSENTS.read(data_dir, run.task_name)[0].digest}
        assert (await client.register())["screen"] == "consent", "the old text is not the new one"
        async with page(run, "back-again-1") as agreeing:
            assert "consent" not in await agreeing.register()
    assert [line.version for line in CONSENTS.read(data_dir, "test-task")] == ["1.0", "2.0"]


async def test_who_came_by_a_link_and_says_no_goes_back_and_leaves_no_visit(start: Launch, data_dir: Path) -> None:
    parameters = [("PROLIFIC_PID", NO), ("STUDY_ID", "s"), ("SESSION_ID", f"session-of-{NO}")]
    async with start(consent_file=consent_file(data_dir.parent), overrides=LINK) as run:
        url = f"http://127.0.0.1:{run.live_run.architect._port}"
        async with PageClient(url, parameters=parameters, agrees=False) as client:
            assert (await client.register("look"))["preview"] is True
            assert (await client.register("begin"))["screen"] == "consent"
            declined = await client.register("decline")
            assert declined["failure_reason"] == reception.DECLINED[1]
            assert declined["redirect"]["url"].endswith("cc=N3NO")
        assert bytes_with(data_dir, NO) == []
        other = [(name, value.replace(NO, YES)) for name, value in parameters]
        async with PageClient(url, parameters=other) as client:
            assert (await client.register("begin"))["agent_id"] is not None
    assert bytes_with(data_dir, NO) == []
    assert len(CONSENTS.read(data_dir, run.task_name)) == 1


def test_without_a_text_nobody_is_asked(data_dir: Path) -> None:
    with launch(data_dir) as run:
        assert "consent_form" not in page_config(run)
    assert not (study_folder(data_dir, run.task_name) / "consents.jsonl").exists()


def test_the_page_is_told_the_words_alone(data_dir: Path) -> None:
    """Also before anybody accepts a HIT; whether answers may be released is between researchers and their board."""
    with launch(data_dir, consent_file=str(EXAMPLE)) as run:
        public = json.loads(page_config(run))["consent_form"]
    assert public["decline"] == "I do not want to take part"
    assert "covers_release" not in public


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("covers_release: true", ""), "covers_release: is missing"),
        (('version: "1.0"', "version: ''"), "version"),
        (("contact:", "contakt:"), "contact: is missing"),
        (("  - heading: What you should know", "  - header: What you should know"), "text.1"),
        (("text:", "text: [\n"), "not YAML"),
    ],
)
def test_a_wrong_file_is_told_of_before_anything_is_launched(
    tmp_path: Path, change: tuple[str, str], said: str
) -> None:
    path = tmp_path / "consent.yaml"
    path.write_text(EXAMPLE.read_text().replace(*change))
    with pytest.raises(DataError, match=re.escape(said)):
        load_consent(path)
    with pytest.raises(DataError), launch(tmp_path / "data", consent_file=str(path)):
        pass


def test_versions_and_paragraphs_may_be_written_plainly(tmp_path: Path) -> None:
    """YAML makes numbers and dates of versions; a text may be one string."""
    path = tmp_path / "consent.yaml"
    plain = "version: 2026-11-01\ntext: |\n  One\n  line.\n\n  Two.\ncontact: me@example.org\ncovers_release: false\n"
    path.write_text(plain)
    consent = load_consent(path)
    assert consent.version == "2026-11-01"
    assert [section.lines for section in consent.text] == [["One line."], ["Two."]]
    other = tmp_path / "other.yaml"
    other.write_text(plain.replace("Two", "Three"))
    assert load_consent(other).digest != consent.digest, "one version, two texts: told apart"


async def test_on_mturk_it_is_asked_after_the_hit_was_accepted(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who says no returns the HIT, of which MTurk alone knows then."""
    text = f"mephisto.blueprint.consent_file={EXAMPLE}"
    with mturk_at_home(monkeypatch, tmp_path) as mturk:
        async with on_mturk_beside(data_dir, text, dialogues=2) as run:
            await eventually(lambda: len(open_hits(mturk)) == 2)
            declining = Turker(run, mturk, NO)
            declining.client.agrees = False
            async with declining:
                assert declining.client.details["screen"] == "consent"
            assert bytes_with(data_dir, NO) == []
            async with Turker(run, mturk, YES) as agreeing:
                assert agreeing.client.agent_id is not None
    assert bytes_with(data_dir, NO) == []
    assert len(CONSENTS.read(data_dir, run.task_name)) == 1
