"""People's answers on a part and a judge's on all: what is matched, what is refused, and what the judge may do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parlai_humaneval.analysis import Result, Tables, clustered_mean, prediction_powered, read_tables
from parlai_humaneval.tables.columns import TableError, from_rows
from parlai_humaneval.tables.example import example_tables

MODELS = ("ada", "bob", "cyd")


def only(**frames: pd.DataFrame) -> Tables:
    """Tables of which the others are empty."""
    named = ("turns", "dialogues", "comparisons", "ratings")
    return Tables(**{name: frames.get(name, from_rows(name, [])) for name in named})


def ratings(values: np.ndarray, workers: list[str], dialogues: list[str], model: str = "ada") -> pd.DataFrame:
    """Likert ratings from 1 to 9, a row each."""
    fixed = {"criterion": "engaging", "degraded": 0, "scale": "likert", "minimum": 1, "maximum": 9}
    return from_rows(
        "ratings",
        [
            {"dialogue_id": dialogue, "worker_id": worker, "model": model, "value": value, **fixed}
            for value, worker, dialogue in zip(values, workers, dialogues, strict=True)
        ],
    )


def rated(
    rng: np.random.Generator, *, judged: int = 120, people: int = 40, noise: float = 0.5
) -> tuple[Tables, Tables]:
    """20 workers rate two dialogues each, a judge these and others; it is too kind by a point, and noisy."""
    quality, names = rng.normal(4.5, 1, judged), [f"d{number}" for number in range(judged)]
    given_values = np.clip(quality[:people] + rng.normal(0, 0.5, people), 1, 9)
    said = np.clip(quality + 1 + rng.normal(0, noise, judged), 1, 9)
    workers = [f"w{number % 20}" for number in range(people)]
    return only(ratings=ratings(given_values, workers, names[:people])), only(
        ratings=ratings(said, ["judge"] * judged, names)
    )


def compared(rng: np.random.Generator, dialogues: int = 90, people: int = 60) -> tuple[Tables, Tables]:
    """Pairs of finished dialogues of three models: 15 workers compare some, a judge all."""
    strength = dict(zip(MODELS, (0.6, 0.0, -0.6), strict=True))
    rows = []
    for number in range(dialogues):
        a, b = sorted(rng.choice(MODELS, 2, replace=False))
        lead = strength[a] - strength[b] + rng.normal(0, 1)
        item = {"item_id": f"i{number}", "metric": "preference", "model_a": a, "model_b": b}
        shown = {"dialogue_a": f"{a}{number}", "dialogue_b": f"{b}{number}"}
        for worker, spread in ((f"w{number % 15}", 0.7), ("judge", 0.2)):
            winner = a if lead + rng.logistic(0, spread) > 0 else b
            rows.append({**item, **shown, "worker_id": worker, "winner": winner, "number": number})
    everything = from_rows("comparisons", rows)
    numbers = np.array([row["number"] for row in rows])
    by_judge = everything["worker_id"].eq("judge").to_numpy(dtype=bool)
    return only(comparisons=everything[~by_judge & (numbers < people)]), only(comparisons=everything[by_judge])


def by_name(results: list[Result]) -> dict[str, Result]:
    return {result.name: result for result in results}


@pytest.fixture(scope="module")
def study() -> tuple[Tables, Tables]:
    return rated(np.random.default_rng(1))


def test_the_estimate_is_that_of_the_paper(study: tuple[Tables, Tables]) -> None:
    """θ = people's mean − λ·(judge's mean on people's part − judge's mean on all), with λ of least variance."""
    people, judge = (tables.ratings["value"].to_numpy(dtype=float) for tables in study)
    (result,) = prediction_powered(*study)
    on_part, power = judge[:40], float(result.details["lambda"])
    assert result.estimate == pytest.approx(people.mean() - power * (on_part.mean() - judge.mean()))
    influence, of_gap = (people - people.mean()) / 40, (on_part - on_part.mean()) / 40
    of_all = -(judge - judge.mean()) / 120

    def variance(at: float) -> float:
        parts = np.concatenate([influence - at * (of_gap + of_all[:40]), -at * of_all[40:]])
        return float((parts**2).sum())

    assert 0.5 < power < 1
    assert variance(power) < min(variance(power - 0.01), variance(power + 0.01), variance(0), variance(1))


def test_what_the_result_says(study: tuple[Tables, Tables]) -> None:
    """Beside the answer stand people's, the judge's, the gain in words and as a number; the judge's bias is not in it."""
    (result,) = prediction_powered(*study)
    people, judge = study
    alone = clustered_mean(people.ratings["value"], people.ratings["worker_id"])
    assert result.details["people"] == pytest.approx(alone.estimate)
    assert (result.ci_high - result.ci_low) < 0.85 * (result.details["people_high"] - result.details["people_low"])
    assert result.details["judge"] == pytest.approx(judge.ratings["value"].mean())
    assert not result.ci_low < result.details["judge"] < result.ci_high
    assert result.notes[0] == f"these 40 human dialogues are worth {result.details['worth']}"
    assert 50 < result.details["worth"] <= 120
    assert result.details["judged_only"] == 80
    assert result.source.startswith("Angelopoulos")


def test_a_constant_bias_changes_nothing(study: tuple[Tables, Tables]) -> None:
    """A judge that is harsher by two points gives the same answer."""
    people, judge = study
    harsher = only(ratings=judge.ratings.assign(value=judge.ratings["value"] * 0.5 + 0.5))
    kinder = only(ratings=judge.ratings.assign(value=judge.ratings["value"] * 0.5 + 2.5))
    (one,), (other,) = prediction_powered(people, harsher), prediction_powered(people, kinder)
    assert one.estimate == pytest.approx(other.estimate)
    assert one.ci_low == pytest.approx(other.ci_low)


@pytest.mark.parametrize("said", ["the same of all", "the contrary"])
def test_a_judge_that_does_not_help_leaves_peoples_answer(study: tuple[Tables, Tables], said: str) -> None:
    """The answer is people's own, to the last digit, and says so."""
    people, judge = study
    value = judge.ratings["value"] * 0 + 5 if said == "the same of all" else 10 - judge.ratings["value"]
    (result,) = prediction_powered(people, only(ratings=judge.ratings.assign(value=value)))
    alone = clustered_mean(people.ratings["value"], people.ratings["worker_id"], limits=(1, 9))
    assert (result.estimate, result.ci_low, result.ci_high) == (alone.estimate, alone.ci_low, alone.ci_high)
    assert (result.details["lambda"], result.details["gain"], result.details["worth"]) == (0, 1, 40)
    assert any("so it is not used" in note for note in result.notes)


def test_several_answers_of_a_judge_to_one_are_averaged(study: tuple[Tables, Tables]) -> None:
    """Both orders of the candidates, or several judges: as one judge that says their mean."""
    people, judge = study
    up, down = (
        judge.ratings.assign(value=judge.ratings["value"] + by, worker_id=f"judge {by}") for by in (-0.25, 0.25)
    )
    twice = prediction_powered(people, only(ratings=pd.concat([up, down], ignore_index=True)))
    assert twice[0].estimate == pytest.approx(prediction_powered(people, judge)[0].estimate)


def test_a_judge_may_stand_in_the_same_tables(study: tuple[Tables, Tables]) -> None:
    """By its name; and rows that say they are a judge's are nobody's in people's tables."""
    people, judge = study
    together = only(ratings=pd.concat([people.ratings, judge.ratings], ignore_index=True))
    wanted = prediction_powered(people, judge)
    assert prediction_powered(together, "judge") == wanted
    kinds = np.where(together.ratings["worker_id"].eq("judge"), "judge", "person")
    marked = only(ratings=together.ratings.assign(rater_kind=kinds))
    assert prediction_powered(marked, judge) == wanted


def test_strengths_and_win_rates_of_pairs() -> None:
    """Three models: each pair's win rate, each strength, and differences that add up; Holm over the pairs."""
    results = by_name(prediction_powered(*compared(np.random.default_rng(3), 400, 120)))
    rates = [result for name, result in results.items() if name.startswith("win rate")]
    assert len(rates) == 3
    assert all(result.details["family_tests"] == 3 for result in rates)
    strengths = {model: results[f"strength of {model}, preference"] for model in MODELS}
    pair = results["ada over cyd, preference"]
    used = [result for result in (*strengths.values(), pair) if result.details["lambda"]]
    assert len({result.details["lambda"] for result in used}) == 1
    assert len(used) == 4
    gap = strengths["ada"].estimate - strengths["cyd"].estimate
    assert pair.estimate == pytest.approx(gap)
    assert pair.method.startswith("Bradley–Terry with ties (Rao–Kupper), prediction-powered")
    assert "these 120 human comparisons are worth" in strengths["ada"].notes[0]


def test_pairs_that_a_judge_answered_more_often_do_not_move_the_others() -> None:
    """A judge that always prefers bob, and answered ada against bob alone beyond people's part, is not believed."""
    people, judge = compared(np.random.default_rng(4))
    rows = judge.comparisons
    bob = rows.assign(winner=np.where(rows["model_a"].eq("bob"), rows["model_a"], rows["model_b"]))
    keep = rows["item_id"].isin(people.comparisons["item_id"]) | (rows["model_a"].eq("ada") & rows["model_b"].eq("bob"))
    results = by_name(prediction_powered(people, only(comparisons=bob[keep])))
    for model in MODELS:
        result = results[f"strength of {model}, preference"]
        assert result.estimate == pytest.approx(result.details["people"])


@pytest.mark.parametrize("technique", ["sata", "third_party"])
def test_a_judge_of_turns_that_people_rated_live(technique: str) -> None:
    """It chose at each turn in both orders, each a judgement: matched by dialogue and turn, as raters' or third parties'."""
    everyone = example_tables()
    turns = everyone.turns[everyone.turns["technique"].eq("sata").to_numpy(dtype=bool)]
    first = turns["worker_id"].isin([f"w{number}" for number in range(4)]).to_numpy(dtype=bool)
    other = technique != "sata"
    orders = [
        turns.assign(
            worker_id="gpt",
            judgement_id="gpt:" + turns["dialogue_id"] + ":" + turns["turn"].astype(str) + f":{order}",
            technique=technique,
            own_worker=turns["worker_id"] if other else None,
            own_technique="sata" if other else None,
            own_setting="sata_random" if other else None,
            selected=turns["selected"] if order == 1 else 0,
        )
        for order in (1, 2)
    ]
    judge = only(turns=pd.concat(orders, ignore_index=True))
    people = only(turns=turns[first])
    results = prediction_powered(people, judge)
    pairs = ("ada over bob", "ada over cyd", "bob over cyd")
    assert [result.name for result in results] == [f"win rate of {pair}, preference" for pair in pairs]
    assert all((result.details["human"], result.details["judged_only"]) == (4, 16) for result in results)
    beside = replace(people, judges=judge)
    assert prediction_powered(beside, "gpt") == results
    with pytest.raises(TableError, match="judges are gpt"):
        prediction_powered(beside, "claude")


def test_sliders_labels_and_good_turns_of_the_example() -> None:
    """Everything that both answered has a result: each criterion, the overall score, good turns, labels of speakers."""
    everyone = example_tables()
    frames = {name: getattr(everyone, name) for name in ("turns", "ratings", "segments")}
    judge = replace(
        everyone,
        **{name: rows.assign(worker_id="gpt") for name, rows in frames.items()},
        comparisons=everyone.comparisons[:0],
        dialogues=everyone.dialogues[:0],
    )
    people = replace(everyone, **{name: rows[rows["worker_id"].lt("w6")] for name, rows in frames.items()})
    names = set(by_name(prediction_powered(people, judge)))
    assert {
        "win rate of ada over bob, preference",
        "mean of ada, fluent",
        "mean of ada − bob, overall, raw",
        "share of cyd, good turns (engaging)",
        "share of bob, taken for human",
        "mean of ada, engaging",
    } <= names
    assert not any("worse" in name for name in names)


def test_a_judge_may_call_its_answers_otherwise(study: tuple[Tables, Tables]) -> None:
    """Technique, setting, metric and kind of scale of a rating may be others than people's; the criterion may not."""
    people, judge = study
    named = judge.ratings.assign(technique="llm", setting="both orders", metric="quality", scale="slider")
    wanted = prediction_powered(people, judge)[0]
    assert prediction_powered(people, only(ratings=named))[0].estimate == wanted.estimate
    with pytest.raises(TableError, match="none of its answers"):
        prediction_powered(people, only(ratings=named.assign(criterion="fluent")))


def test_a_judge_may_have_a_scale_of_its_own(study: tuple[Tables, Tables]) -> None:
    """From 0 to 1 it says what it would say from 1 to 9, and counts as much."""
    people, judge = study
    shares = judge.ratings.assign(value=(judge.ratings["value"] - 1) / 8, minimum=0, maximum=1)
    (wanted,), (result,) = prediction_powered(people, judge), prediction_powered(people, only(ratings=shares))
    assert (result.estimate, result.ci_low) == pytest.approx((wanted.estimate, wanted.ci_low))
    assert result.details["judge"] == pytest.approx(wanted.details["judge"])


def test_answers_without_the_judges_count_as_they_are(study: tuple[Tables, Tables]) -> None:
    """A judge that refused some dialogues helps less, and the result tells of how many answers it said nothing."""
    people, judge = study
    answered = judge.ratings[judge.ratings["dialogue_id"].ne("d3").to_numpy(dtype=bool)]
    (result,) = prediction_powered(people, only(ratings=answered))
    assert "1 of 40 answers of people are about items that the judge did not answer" in result.notes
    assert result.n == 40


@pytest.mark.parametrize(("workers", "used"), [(3, False), (5, False), (6, True)])
def test_of_very_few_workers_the_answer_is_their_own(study: tuple[Tables, Tables], workers: int, used: bool) -> None:
    """Of fewer than six, intervals with a judge would miss the truth in .07 to .11 of studies."""
    people, judge = study
    names = [f"w{number % workers}" for number in range(40)]
    (result,) = prediction_powered(only(ratings=people.ratings.assign(worker_id=names)), judge)
    assert (result.details["lambda"] > 0, result.details["gain"] > 1) == (used, used)
    assert any("fewer than 6 effective raters" in note for note in result.notes) != used


def test_one_dialogue_is_spoken_of_as_one(study: tuple[Tables, Tables]) -> None:
    """A single answer has no interval, and is worth itself."""
    people, judge = study
    (result,) = prediction_powered(only(ratings=people.ratings[:1]), judge)
    assert result.notes[0] == "this human dialogue is worth 1"
    assert result.ci_low is None


def test_what_is_read_from_files_is_put_together(study: tuple[Tables, Tables], tmp_path: Path) -> None:
    """Tables as others write them: a folder of CSV for people and one for the judge, or the judge's rows among people's."""
    people, judge = (tables.ratings.dropna(axis="columns", how="all").assign(seconds="") for tables in study)
    read = []
    for name, rows in (("people", people), ("judge", judge), ("all", pd.concat([people, judge]))):
        (tmp_path / name).mkdir()
        rows.to_csv(tmp_path / name / "ratings.csv", index=False)
        read.append(read_tables(tmp_path / name))
    (wanted,) = prediction_powered(*study)
    for results in (prediction_powered(read[0], read[1]), prediction_powered(read[2], "judge")):
        assert [result.ci_low for result in results] == [pytest.approx(wanted.ci_low)]


NOBODY = only()


def _without_overlap(tables: Tables) -> Tables:
    return only(ratings=tables.ratings.assign(dialogue_id="x" + tables.ratings["dialogue_id"]))


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (lambda people, judge: (people, people), "the same rows would count as both"),
        (lambda people, judge: (NOBODY, judge), "no answers by people"),
        (
            lambda people, judge: (people.ratings, judge),
            "tables: expected Tables, as read_tables(folder) returns them, not Data",
        ),
        (
            lambda people, judge: (people, judge.ratings),
            "the name of the judge in tables, not DataFrame",
        ),
        (lambda people, judge: (people, None), "not NoneType"),
        (lambda people, judge: (people, NOBODY), "its tables hold no answers"),
        (
            lambda people, judge: (people, "gpt"),
            "the tables hold no judge's answers; run a judge first",
        ),
        (
            lambda people, judge: (people, _without_overlap(judge)),
            "'engaging' of 'd0', the judge's to 'engaging' of 'xd0'",
        ),
        (lambda people, judge: (people, only(ratings=judge.ratings[:40])), "answered only what people answered"),
        (lambda people, judge: (judge, compared(np.random.default_rng(0))[0]), "different kinds of answers"),
    ],
)
def test_tables_that_cannot_be_put_together_are_refused(study: tuple[Tables, Tables], broken, words: str) -> None:
    """Guards that a mistake does not come back as a number: the text says what is wrong, and what to give."""
    with pytest.raises(TableError) as error:
        prediction_powered(*broken(*study))
    assert words in str(error.value)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.integers(6, 40), st.sampled_from([0.0, 0.3, 3.0]))
def test_no_interval_is_wider_than_peoples(seed: int, people: int, noise: float) -> None:
    """By more than 1 %, whoever the judge is and however few people there are."""
    (result,) = prediction_powered(*rated(np.random.default_rng(seed), judged=people + 20, people=people, noise=noise))
    assert (
        result.ci_high - result.ci_low <= 1.01 * (result.details["people_high"] - result.details["people_low"]) + 1e-9
    )
    assert 1 <= result.details["gain"] <= (people + 20) / people
