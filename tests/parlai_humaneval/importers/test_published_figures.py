"""A public release, imported by the command, gives the figures that its authors published."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.direct_assessment import build
from parlai_humaneval.tables.files import read_tables

SHARED = Path(__file__).parents[4] / "shared"
RATINGS = SHARED / "data" / "dialogue_eval_run1" / "ratings.csv"
PAPER = SHARED / "papers" / "ji2022_reliable_human_assessment.txt"
CRITERIA = ("interesting", "fun", "consistent", "fluent", "topic", "robotic", "repetitive")
_ROW = re.compile(r"^(?:Free Run 1 )?([A-E]p?) (\d+)((?: -?\d\.\d{3}){8})$", re.MULTILINE)


@pytest.mark.skipif(not (RATINGS.is_file() and PAPER.is_file()), reason="the release is not next to this checkout")
def test_scores_of_ji_et_al_2022(command):
    """Table 3 of the paper: ten models, eight scores and counts of ratings, of those who passed the check of raters."""
    columns = ["hit_seconds=seconds", "worker=worker_id"]
    constant = ["dialogue_id=", "technique=direct_assessment", "setting=free", "minimum=0", "maximum=100"]
    arguments = [word for pair in columns for word in ("--rename", pair)]
    arguments += [word for pair in constant for word in ("--set", pair)]
    arguments += ["--rename", "model=model", "--rename", "model=degraded"]
    arguments += ["--map", f"degraded:qc=1,{','.join(f'{name}{mark}=0' for name in 'ABCDE' for mark in ('', '_p'))}"]
    done = command("--from", "tables", RATINGS, "--table", "ratings", "--wide", ",".join(CRITERIA), *arguments)
    assert done.exit_code == 0, done.stderr
    section = build(read_tables(command.out), Options(draws=10))
    assert section is not None
    text = PAPER.read_text(encoding="utf-8").partition("Free Run 1 A")
    published = {name.replace("p", "_p"): (int(n), scores) for name, n, scores in _ROW.findall("".join(text[1:]))[:10]}
    assert len(published) == 10
    assert {row.model for row in section.models} == set(published)
    for row in section.models:
        n_ratings, scores = published[row.model]
        found = [row.z_overall.estimate, *(row.z[name].estimate for name in CRITERIA)]
        assert (row.n_ratings, found) == (n_ratings, pytest.approx([*map(float, scores.split())], abs=6e-4))
