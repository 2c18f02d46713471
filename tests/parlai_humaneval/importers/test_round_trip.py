"""A study that was exported and is imported again gives the same report, to the last figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from hashlib import sha256
from pathlib import Path

import pytest
from make_judgements import make_pairs, make_third_party
from make_judges import judged
from make_live_records import make_choices, make_verdict
from make_stopped import stopped, tables_of

from parlai_humaneval.importers.readers import with_pseudonyms
from parlai_humaneval.report.build import build_report
from parlai_humaneval.report.section import Options
from parlai_humaneval.schema.records import Rated
from parlai_humaneval.tables.build import judge_tables, tables
from parlai_humaneval.tables.columns import Tables
from parlai_humaneval.tables.example import example_tables
from parlai_humaneval.tables.files import read_tables, save_tables

NOW = datetime(2026, 1, 2, tzinfo=timezone.utc)


def pseudonym(name: str) -> str:
    return f"w{sha256(name.encode()).hexdigest()[:12]}"


def exported(whole: Tables) -> Tables:
    """As ``export`` writes them: workers by pseudonyms, with what stands besides raters' answers."""
    judges = None if whole.judges is None else with_pseudonyms(whole.judges, pseudonym)
    return replace(with_pseudonyms(whole, pseudonym), judges=judges, stopping=whole.stopping)


def of_records(*records: Sequence[Rated]) -> Tables:
    return tables([record for several in records for record in several])


def with_judge() -> Tables:
    pairs = make_pairs({"a": 2, "b": 1}, workers=5)
    answers = judged(pairs, lambda question: '{"answer": "A"}')
    return replace(tables(pairs), judges=judge_tables(pairs, answers))


@pytest.mark.parametrize(
    "study",
    [
        example_tables,
        lambda: of_records(
            make_choices({"a": 2, "b": 1}, technique="pw_turn", setting="", one_pick=True, workers=3, turns=2),
            [make_verdict(f"v{n}", "ab"[n % 2], worker=f"w{n}") for n in range(6)],
        ),
        lambda: of_records(make_third_party(dialogues=4)),
        lambda: tables_of(stopped(cap=20)),
        with_judge,
    ],
    ids=["five", "pw_turn and arena", "third_party", "decided", "judge"],
)
def test_the_report_is_the_same(command, tmp_path: Path, study: Callable[[], Tables]):
    before = exported(study())
    save_tables(before, tmp_path / "export")
    done = command("--from", "tables", tmp_path / "export")
    assert done.exit_code == 0, done.stderr
    reports = [build_report(found, Options(draws=5), now=NOW).to_json() for found in (before, read_tables(command.out))]
    assert reports[1] == reports[0]
    assert sum(isinstance(part, dict) and bool(part) for part in reports[0].values()) > 2


def test_what_stands_besides_is_left_out_where_workers_had_names(command, tmp_path: Path):
    """Logs and judges' answers may hold the names that the tables now have no more."""
    save_tables(replace(with_judge(), stopping=tables_of(stopped(cap=20)).stopping), tmp_path / "export")
    assert command("--from", "tables", tmp_path / "export").exit_code == 0
    found = read_tables(command.out)
    assert (found.judges, found.stopping) == (None, ())
