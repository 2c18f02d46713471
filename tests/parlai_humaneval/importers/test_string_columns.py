"""Names and ids are cleaned in every column of text, whether pandas keeps it as objects or, as its version 3, as strings."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from parlai_humaneval.importers.readers import with_pseudonyms, without_names
from parlai_humaneval.tables.columns import with_clean_labels
from parlai_humaneval.tables.example import example_tables

KINDS = ("object", "string", "category", pd.Series(["a"]).dtype)


@pytest.fixture(params=KINDS, ids=[*KINDS[:3], "default"])
def kind(request: pytest.FixtureRequest) -> object:
    return request.param


def test_labels_are_cleaned(kind: object) -> None:
    models = pd.Series(["ada ", "bob", "bob"]).astype(kind)
    frame, told = with_clean_labels("ratings", pd.DataFrame({"model": models, "value": [1, 2, 3]}))
    assert frame["model"].tolist() == ["ada", "bob", "bob"]
    assert [one.cells for one in told] == [{"model": 1}]


def test_ids_in_comments_and_in_columns_of_a_researcher_become_pseudonyms(kind: object) -> None:
    tables = example_tables()
    worker = str(tables.ratings["worker_id"].iloc[0]).ljust(6, "x")
    ratings = tables.ratings.assign(worker_id=worker).assign(
        participant=pd.Series(worker, index=tables.ratings.index).astype(kind),
        comment=pd.Series(f"I am {worker}.", index=tables.ratings.index).astype(kind),
    )
    given = with_pseudonyms(replace(tables, ratings=ratings), lambda name: f"pseudonym of {name}")
    assert set(given.ratings["participant"]) == {f"pseudonym of {worker}"}
    clean, count = without_names(given, {worker: "somebody"})
    assert set(clean.ratings["comment"]) == {"I am somebody."}
    assert count >= len(ratings)
