"""A release names nobody, leads back nowhere, and says of itself what it is; and it can be reported on."""

from __future__ import annotations

import csv
import hashlib
import json
import stat
from pathlib import Path
from typing import get_args

import pandas as pd
import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stored_study import StoredStudy, choices, rated

from mephisto_tasks.privacy.anonymize import Anonymizer, Cleaner, Coarse
from mephisto_tasks.privacy.release import agreed
from mephisto_tasks.storage.logs import CONSENTS, Agreement, keep_text
from mephisto_tasks.storage.results import read_dialogues, read_records
from mephisto_tasks.workers.roster import known_workers
from parlai_humaneval.cli import main
from parlai_humaneval.materials.consent import Consent, ConsentSection
from parlai_humaneval.schema.events import Event, FeedbackGiven
from parlai_humaneval.tables.build import tables
from parlai_humaneval.tables.files import read_tables
from parlai_humaneval.tables.schema import TableName
from parlai_humaneval.viewer.write import is_built

TASK, ELSE_TASK = "release-study", "judging-study"
PEOPLE = ("A1RELEASED0001", "A2RELEASED0002", "A3RELEASED0003")
ELSEWHERE = ("--without-consent-text", "Signed forms on paper.")
TEXT = "mail jane@example.org or (212) 555-0188; I am A2RELEASED0002 and A9NOTKNOWN0001"


def told(dialogue: str, text: str) -> list[Event]:
    events = list(choices(dialogue, [[0], [1], []]))
    return [*events, FeedbackGiven(at=events[-1].at + 5, text=text)]


@pytest.fixture
def study(tmp_path: Path) -> Path:
    study = StoredStudy(tmp_path / "data")
    for number, worker in enumerate(PEOPLE):
        study.add(TASK, worker, told(f"{number + 7}-1", TEXT))
        study.add(TASK, worker, list(rated(f"{number + 20}-1", "alpha", {"fluent": 10.0 + number, "robotic": 3.0})))
    study.add(ELSE_TASK, PEOPLE[2], told("99-1", ""))
    return study.data_dir


def command(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(one) for one in arguments], catch_exceptions=False)


def released(data_dir: Path, out: Path, *more: str) -> Result:
    return command("export", "--release", "--task-name", TASK, "--data-dir", data_dir, "--out", out, *more)


def content(folder: Path) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*")) if path.is_file())


def secrets_of(data_dir: Path) -> set[str]:
    """Everything that names somebody, or that leads from a release to the data directory."""
    known = known_workers(data_dir).values()
    records = read_records(data_dir, TASK)
    ids = {record.dialogue_id for record in records}
    return {worker.name for worker in known} | {worker.pseudonym for worker in known} | ids


def test_names_nobody_and_leads_back_nowhere(study: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert released(study, out, *ELSEWHERE, *(["--viewer"] if is_built() else [])).exit_code == 0
    assert (out / "viewer" / "index.html").is_file() == is_built()
    written = content(out)
    assert [secret for secret in secrets_of(study) if secret in written] == []
    for gone in ("jane@example.org", "555-0188", "A9NOTKNOWN0001", "2023-11", "1700000"):
        assert gone not in written
    assert "mail [e-mail] or [telephone]; I am [worker] and [worker id]" in written
    dialogues = read_tables(out).dialogues
    assert set(dialogues["started"]) == {"2000-01-01T00:00:00+00:00"}
    assert dialogues["seed"].isna().all()
    assert read_tables(out).turns["worker_id"].nunique() == 3, "the same name over all rows and tables"
    assert set(read_tables(out).turns["worker_id"]) <= set(dialogues["worker_id"])


def test_two_releases_have_no_name_in_common(study: Path, tmp_path: Path) -> None:
    """Nor the same order: whoever has both learns no more than from one."""
    names = []
    for out in (tmp_path / "one", tmp_path / "two"):
        assert released(study, out, *ELSEWHERE).exit_code == 0
        tables = read_tables(out)
        names.append({*tables.dialogues["worker_id"], *tables.dialogues["dialogue_id"], *tables.turns["candidate_id"]})
    assert names[0].isdisjoint(names[1])


def test_a_report_of_it_says_the_same(study: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert released(study, out, *ELSEWHERE).exit_code == 0
    options = ("--json", "--draws", "100")
    of_release = json.loads(command("report", "--tables", out, *options).stdout)
    of_task = json.loads(command("report", "--task-name", TASK, "--data-dir", study, *options).stdout)
    assert of_release["turns"] == of_task["turns"]
    assert of_release["turns"]["models"]


def test_what_was_found_is_listed_beside_the_release_for_its_owner_alone(study: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    said = released(study, out, *ELSEWHERE).stdout
    review = tmp_path / "out-to-review.csv"
    assert stat.S_IMODE(review.stat().st_mode) == 0o600
    rows = list(csv.DictReader(review.read_text().splitlines()))
    assert {row["found"] for row in rows} == {"jane@example.org", "(212) 555-0188", PEOPLE[1], "A9NOTKNOWN0001"}
    assert str(review) in said.replace("\n", "")
    assert {row["row"] for row in rows} <= set(read_tables(out).dialogues["dialogue_id"])
    inside = released(study, out, *ELSEWHERE, "--force", "--review", str(out / "review.csv"))
    assert "would be part of the release" in inside.stderr


def test_the_card_says_what_it_is_and_the_sums_hold(study: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert released(study, out, *ELSEWHERE, "--license", "CC BY 4.0").exit_code == 0
    card = json.loads((out / "data_card.json").read_text())
    assert card["license"] == "CC BY 4.0"
    assert card["counts"]["people"] == 3
    assert card["consent_elsewhere"] == "Signed forms on paper."
    assert {one["name"] for one in card["techniques"]} == {"sata", "direct_assessment"}
    assert "Liu et al. 2023" in json.dumps(card["techniques"])
    assert card["questions"] == ["Which would you rather talk to?"]
    assert card["marks"]["[e-mail]"] > 0
    for line in (out / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((out / name).read_bytes()).hexdigest() == digest
    tables = {file["name"]: file for file in card["files"]}
    assert tables["turns.csv"]["rows"] == len(pd.read_csv(out / "turns.csv"))
    assert {"worker_id", "selected"} <= {column["name"] for column in tables["turns.csv"]["columns"]}
    assert "Licence:** CC BY 4.0" in (out / "data_card.md").read_text()


def consent(version: str, covers: bool) -> Consent:
    return Consent(
        version=version,
        text=[ConsentSection(lines=[f"Words of version {version}."])],
        contact="lab@example.org",
        covers_release=covers,
    )


def agree(data_dir: Path, text: Consent, *workers: str) -> None:
    keep_text(data_dir, TASK, text)
    pseudonyms = {known.name: known.pseudonym for known in known_workers(data_dir).values()}
    for name in workers:
        agreement = Agreement(worker=pseudonyms[name], version=text.version, digest=text.digest)
        CONSENTS.append(data_dir, agreement, task=TASK)


def test_nothing_is_released_that_somebody_did_not_agree_to(study: Path, tmp_path: Path) -> None:
    """No text at all, a text that does not speak of it, and some who never agreed; each with what to do."""
    out = tmp_path / "out"
    assert "--without-consent-text" in released(study, out).stderr
    agree(study, consent("1", covers=False), *PEOPLE)
    refused = released(study, out, *ELSEWHERE)
    assert "3 of 3 people never agreed" in " ".join(refused.stderr.split())
    agree(study, consent("2", covers=True), *PEOPLE[:2])
    assert "1 of 3 people never agreed" in " ".join(released(study, out).stderr.split())
    assert not out.exists()
    result = released(study, out, "--only-who-agreed")
    assert result.exit_code == 0, result.stderr
    assert read_tables(out).dialogues["worker_id"].nunique() == 2
    card = json.loads((out / "data_card.json").read_text())
    of_version = {one["text"]["version"]: one["people"] for one in card["consent"]}
    assert of_version["2"] == 2
    assert card["left_out"] == ["2 records with words or answers from people who did not agree to a release."]
    assert "Words of version 2." in (out / "data_card.md").read_text()


def test_who_was_judged_counts_and_so_does_what_they_agreed_to(study: Path, tmp_path: Path) -> None:
    """Judges of one task and talkers of another agreed to one text: all of them are of the release, each once."""
    text = consent("2", covers=True)
    agree(study, text, *PEOPLE[:2])
    known = {worker.name: worker.pseudonym for worker in known_workers(study).values()}
    keep_text(study, ELSE_TASK, text)
    for name in PEOPLE[1:]:
        CONSENTS.append(study, Agreement(worker=known[name], version="2", digest=text.digest), task=ELSE_TASK)
    found = agreed(study, [ELSE_TASK], list(known.values()))
    assert found.uncovered == []
    assert [(one.version, number) for one, number in found.texts] == [("2", 3)]


def test_the_seed_of_a_study_is_left_out_of_its_settings(study: Path) -> None:
    """By it, and the order of candidates and materials, it could be worked out who came first; a model's own stays."""
    records = read_dialogues(study, TASK)
    for record in records:
        record.settings = {"seed": 5150, "study_seed": 5150, "turns": 3, "workers": {"seed": 5150}}
        record.models[0].options = {"seed": 77}
    clean = Anonymizer(Cleaner([], []), "day").tables(tables(records)).dialogues
    assert {json.dumps(json.loads(text)) for text in clean["settings"]} == {'{"turns": 3, "workers": {}}'}
    assert all('"seed": 77' in text for text in clean["model_settings"])


SIGNS = ("hello,", "(", ")", "-", "é", "1-1", "\n", "'")
WORDS = st.lists(st.sampled_from([*PEOPLE, *map(str.lower, PEOPLE), "PSEUDONYM", *SIGNS]), max_size=25).map(" ".join)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three dialogues, with ids that stand nowhere by chance."""
    study = StoredStudy(tmp_path_factory.mktemp("property") / "data")
    for number, worker in enumerate(PEOPLE):
        study.add(TASK, worker, told(f"88{number}77-1", ""))
    return study.data_dir


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(WORDS, min_size=3, max_size=3), coarse=st.sampled_from(["day", "week"]))
def test_no_table_carries_a_name_a_pseudonym_or_an_id(stored: Path, texts: list[str], coarse: Coarse) -> None:
    """Whatever people wrote, in whatever case and between whatever signs."""
    names = {known.name: known.pseudonym for known in known_workers(stored).values()}
    records = read_dialogues(stored, TASK)
    for record, text in zip(records, texts, strict=True):
        record.feedback = text.replace("PSEUDONYM", record.worker)
        record.turns[0].human_text = record.turns[1].reason = record.feedback
    clean = Anonymizer(Cleaner([], [*names, *names.values()]), coarse).tables(tables(records))
    written = "\n".join(getattr(clean, name).to_csv() for name in get_args(TableName)).lower()
    assert len(clean.dialogues) == 3
    assert [secret for secret in secrets_of(stored) if secret.lower() in written] == []
