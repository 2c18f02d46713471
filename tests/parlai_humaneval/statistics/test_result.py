"""The result type: one line, a table row, JSON without nan."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from parlai_humaneval.statistics.core.formatting import (
    format_p,
    format_range,
    p_cell,
    percent,
    seconds_words,
    signed_points,
)
from parlai_humaneval.statistics.core.result import Result

FULL = Result(
    name="win rate of a over b",
    estimate=0.68,
    ci_low=0.59,
    ci_high=0.76,
    statistic=4.2,
    p_value=0.0004,
    n=120,
    method="CR1 t",
    assumptions=("raters are independent",),
    source="Smith et al. 2022, §4.1",
    notes=("few raters",),
    details={"seed": 3},
)
EMPTY = Result(name="win rate of a over b", n=0, method="CR1 t")


def test_str_is_one_line_with_everything_needed():
    """A result can be logged as it is."""
    assert str(FULL) == (
        "win rate of a over b: 0.680, 95% interval 0.590 to 0.760, statistic 4.200, p = .0004, n = 120 [CR1 t]"
    )
    assert str(EMPTY) == "win rate of a over b: –, n = 0 [CR1 t]"


def test_explain_adds_assumptions_source_notes_and_details():
    """What the number rests on is one call away."""
    for part in ("raters are independent", "Smith et al. 2022", "few raters", "seed: 3", str(FULL)):
        assert part in FULL.explain()


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_no_nan_or_infinity_reaches_json(bad):
    """JSON readers elsewhere stop at NaN."""
    got = Result(name="x", estimate=bad, ci_low=bad, ci_high=bad, statistic=bad, p_value=bad, n=1, method="m")
    text = json.dumps(got.to_dict(), allow_nan=False)
    assert json.loads(text)["estimate"] is None
    assert json.loads(text)["p_value"] is None


def test_a_result_cannot_be_changed():
    """What was computed stays what was computed."""
    with pytest.raises(ValidationError):
        FULL.estimate = 0.9


@pytest.mark.parametrize(
    ("p", "words"),
    [
        (0.00001, "< .0001"),
        (0.0004, "= .0004"),
        (0.0432, "= .043"),
        (0.312, "= .31"),
        (0.999, "= 1"),
        (1.0, "= 1"),
    ],
)
def test_p_values_read_as_in_print(p, words):
    """Rounded, no leading zero, and never “p = .000”."""
    assert format_p(p) == f"p {words}"
    assert p_cell(p) == words.removeprefix("= ")


def test_missing_numbers_read_as_a_dash():
    """None never prints as “None” or “nan”."""
    assert (percent(None), format_range(None, 0.5), seconds_words(None), p_cell(None)) == ("–",) * 4
    assert format_p(None) == "p cannot be estimated"


def test_seconds_read_as_people_say_them():
    """Short times keep a decimal, long ones are minutes."""
    assert [seconds_words(s) for s in (4.25, 14.4, 200.0)] == ["4.2 s", "14 s", "3 min 20 s"]


def test_points_keep_their_sign() -> None:
    """Guards differences in figures: the sign stands where the number is not nought, and an absent one is a dash."""
    said = [signed_points(value) for value in (0.134, -0.004, -0.5, 0.0, -0.0001, None)]
    assert said == ["13", "−0.4", "−50", "0", "0.0", "–"]
