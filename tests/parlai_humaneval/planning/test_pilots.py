"""What a plan takes from the tables of a pilot, and what is typed instead."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from parlai_humaneval.cli import main
from parlai_humaneval.planning.inputs import ICC, PlanError, ask
from parlai_humaneval.planning.pilot import pilot_of, read_pilot, with_pilot
from parlai_humaneval.planning.plan import plan_study
from parlai_humaneval.planning.power import dialogue_icc
from parlai_humaneval.statistics.core.clustering_effects import variance_components
from parlai_humaneval.tables.columns import Tables, from_rows, typed
from parlai_humaneval.tables.example import example_tables
from parlai_humaneval.tables.files import write_tables

NOTHING = {name: from_rows(name, []) for name in ("turns", "dialogues", "comparisons")}
LEANING = 1.2  # Judges so much alike that their ICC is above the default, whatever else is true


def compared(
    workers: int = 60, each: int = 10, reuse: int = 6, sd: float = 1.0, lean: float = 0.5, seed: int = 0
) -> Tables:
    """Finished dialogues of two models in pairs, of whose qualities and of whose judges' leanings the answers are made."""
    rng = np.random.default_rng(seed)
    sizes = np.where(np.arange(workers) % 3 == 0, 2 * each, each // 2)
    worker = np.repeat(np.arange(workers), sizes)
    n = len(worker)
    a, b = (rng.permutation(np.arange(n) // reuse) for _ in range(2))
    quality = rng.normal(0, sd, (2, n))
    odds = rng.normal(0, lean, workers)[worker] + quality[0][a] - quality[1][b]
    rows = pd.DataFrame(
        {
            "item_id": [f"i{i}" for i in range(n)],
            "worker_id": [f"w{i}" for i in worker],
            "metric": "preference",
            "model_a": "x",
            "model_b": "y",
            "dialogue_a": [f"x{i}" for i in a],
            "dialogue_b": [f"y{i}" for i in b],
            "winner": np.where(rng.random(n) < 1 / (1 + np.exp(-odds)), "x", "y"),
            "seconds": np.where(np.arange(n) == 0, 600_000.0, 45.0),
            "technique": "pw_dialog",
        }
    )
    return Tables(**{**NOTHING, "comparisons": typed("comparisons", rows)})


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["plan", *arguments])


def test_all_of_a_pilot_is_read() -> None:
    """Guards each number of a pilot against what its answers were made of; an open tab does not move the time."""
    pilot = pilot_of(compared(workers=600))
    assert (pilot.technique, pilot.models, pilot.metric, pilot.n_workers) == (
        "pw_dialog",
        ("x", "y"),
        "preference",
        600,
    )
    assert pilot.icc_low is not None
    assert pilot.icc_high is not None
    assert pilot.icc == pytest.approx(0.04, abs=0.02)
    assert pilot.icc_low < pilot.icc < pilot.icc_high
    assert pilot.dialogue_icc == pytest.approx(dialogue_icc(1.0), abs=0.02)
    assert pilot.judgements_per_dialogue == pytest.approx(6)
    assert pilot.dialogues_per_worker == pytest.approx(10)
    sizes = np.where(np.arange(600) % 3 == 0, 20, 5)
    assert pilot.worker_inequality == pytest.approx(sizes.std() / sizes.mean())
    assert pilot.effective_workers == pytest.approx(sizes.sum() ** 2 / (sizes**2).sum())
    assert pilot.minutes == pytest.approx(0.75)
    assert pilot.discordance is None, "a choice is asked for"


def test_the_plan_is_the_one_that_typing_would_give(tmp_path: Path) -> None:
    """Guards that nobody has to type: the same study as with every number of the pilot given by hand."""
    write_tables(compared(lean=LEANING), tmp_path)
    result = call("--pilot", str(tmp_path), "--gap", "0.2", "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    by_hand = plan_study(ask(gap=0.2, **pilot_of(compared(lean=LEANING)).question()))
    assert (found["n_judgements"], found["cost"]) == (by_hand.n_judgements, by_hand.cost)
    assert found["pilot"]["icc"] == found["inputs"]["icc"]
    upper = found["at_upper_icc"]
    assert upper["icc"] == found["pilot"]["icc_high"]
    assert upper["n_judgements"] > found["n_judgements"]
    text = call("--pilot", str(tmp_path / "comparisons.csv"), "--gap", "0.2").stdout.replace("\n  ", " ")
    assert f"{upper['n_judgements']:,} comparisons" in text
    assert "From the pilot (preference," in text


def test_what_is_typed_wins(tmp_path: Path) -> None:
    """Guards that a typed number is planned with, and told beside the pilot's; then nothing is said of an upper end."""
    write_tables(compared(), tmp_path)
    typed_in = ["--icc", "0.1", "--dialogue-sd", "0.3", "--dialogues-per-worker", "4"]
    result = call("--pilot", str(tmp_path), "--gap", "0.2", "--json", *typed_in)
    found = json.loads(result.stdout)
    assert (found["inputs"]["icc"], found["inputs"]["dialogues_per_worker"]) == (0.1, 4)
    assert found["inputs"]["dialogue_icc"] == pytest.approx(dialogue_icc(0.3))
    assert found["at_upper_icc"] is None
    (told,) = [note for note in found["notes"] if note.startswith("These options replace")]
    assert "ICC of raters 0.1 (the pilot has" in told
    assert "dialogues per rater 4 (the pilot has 10)" in told


@pytest.mark.parametrize("technique", ["sata", "single_model", "direct_assessment", "pw_dialog", "spot_the_bot"])
def test_every_technique_of_a_pilot(technique: str) -> None:
    """Guards what belongs to a technique alone: ties, a baseline, turns; and that a plan can be made of it."""
    pilot = pilot_of(example_tables(), technique)
    planned = plan_study(ask(gap=0.1, **pilot.question()))
    assert planned.technique == technique
    assert (pilot.discordance is not None) == (technique in ("sata", "spot_the_bot"))
    assert (pilot.baseline is not None) == (technique == "single_model")
    assert pilot.turns == (4 if technique in ("sata", "single_model") else None)
    assert pilot.models == (("ada", "bob") if technique == "pw_dialog" else ("ada", "bob", "cyd"))
    assert pilot.worker_inequality == pytest.approx(0, abs=1e-9)


def test_spot_the_bot_is_planned_on_the_scale_of_leads() -> None:
    """Guards the scale: the pilot's ICC is of which bot got the better label, ties among them, as the plan counts."""
    tables = example_tables()
    pilot = pilot_of(tables, "spot_the_bot")
    assert pilot.metric == "better label"
    assert pilot.n_judgements == 24
    assert pilot.discordance == 0.5


def test_pilots_that_say_too_little() -> None:
    """Guards the errors: no such technique, several without a choice, none named."""
    with pytest.raises(PlanError, match="choose one with --technique"):
        pilot_of(example_tables())
    with pytest.raises(PlanError, match="no comparisons of two models by arena"):
        pilot_of(example_tables(), "arena")
    with pytest.raises(PlanError, match="does not name a technique"):
        pilot_of(Tables(**NOTHING))
    unnamed = compared()
    unnamed = replace(unnamed, comparisons=unnamed.comparisons.assign(technique=None))
    with pytest.raises(PlanError, match="does not name a technique"):
        pilot_of(unnamed)
    assert pilot_of(unnamed, "pw_dialog").technique == "pw_dialog"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--pilot", "nowhere"], "there is no such folder or table"),
        (["--pilot", "nowhere", "--compare"], "leave --compare out"),
    ],
)
def test_wrong_use_of_a_pilot(arguments: list[str], words: str) -> None:
    """Guards exit code 2 with a sentence that says what to do."""
    result = call("--gap", "0.1", *arguments)
    assert result.exit_code == 2
    assert words in result.stderr


def test_an_icc_below_0_is_no_gain() -> None:
    """Guards that workers who differ more than chance are not counted on."""
    below = {"icc": -0.2, "icc_low": -0.3, "icc_high": -0.1, "dialogue_icc": -0.1}
    pilot = pilot_of(compared()).model_copy(update=below)
    assert (pilot.question()["icc"], pilot.question()["dialogue_icc"]) == (0.001, 0.001)


@pytest.mark.parametrize(
    ("icc", "low", "high", "workers", "is_told"),
    [
        (0.2, 0.1, 0.3, 40, True),
        (0.1, 0.02, 0.3, 40, True),
        (0.02, 0.001, 0.03, 40, True),
        (-0.333, -0.333, -0.333, 3, False),
        (0.2, 0.1, 0.3, 5, False),
        (0.2, None, None, 40, False),
        (0.03, 0.01, 0.08, 40, False),
        (0.06, -0.1, 0.2, 40, False),
    ],
)
def test_an_icc_that_is_not_sure_is_not_planned_with(
    icc: float, low: float | None, high: float | None, workers: int, is_told: bool
) -> None:
    """Guards against a plan by luck: few raters, no interval, or one that holds the default and a smaller estimate."""
    told = {"icc": icc, "icc_low": low, "icc_high": high, "n_workers": workers}
    pilot = pilot_of(compared()).model_copy(update=told)
    assert pilot.tells_icc == is_told
    inputs = ask(gap=0.2, **pilot.question())
    assert inputs.filled().icc == (icc if is_told else ICC)
    notes = with_pilot(plan_study(inputs), inputs, pilot, {}).notes
    assert any("too small to say" in note and "default ICC of 0.05" in note for note in notes) != is_told
    repeated = any("upper end" in note and "ICC of raters" in note for note in notes)
    assert repeated == (high is not None and workers >= 6 and high > (inputs.filled().icc or 0))


def test_three_raters_who_differ_have_no_interval() -> None:
    """Guards against an interval of which both ends are the least that an ICC can be."""
    few = pilot_of(compared(workers=3))
    assert few.icc_low is None or few.icc_high is None or few.icc_low < few.icc_high


def of_sets(tiny: bool = True) -> Tables:
    """Turns of one pick: three models by 40 workers who do not lean, and (``tiny``) three others by two who always do."""
    rng = np.random.default_rng(3)
    rows = []
    for worker in range(42 if tiny else 40):
        leaning = worker >= 40
        models = ("p", "q", "r") if leaning else ("x", "y", "z")
        for turn in range(6):
            chosen = worker - 40 if leaning and turn else int(rng.integers(3))
            for place, model in enumerate(models):
                rows.append(
                    {
                        "dialogue_id": f"d{worker}",
                        "worker_id": f"w{worker}",
                        "technique": "sata",
                        "setting": "soba",
                        "metric": "appropriate",
                        "turn": turn + 1,
                        "model": model,
                        "position": place + 1,
                        "selected": int(place == chosen),
                        "continued": 0,
                        "written": 0,
                        "seconds": 9.0,
                        "dialogue_status": "complete",
                    }
                )
    return Tables(**{**NOTHING, "turns": typed("turns", pd.DataFrame(rows))})


def test_a_tiny_set_of_models_does_not_decide() -> None:
    """Guards the ICC against two workers of another set of models, whose own ICC is near 1: all sets count by what they
    tell, and the plan says how many there were."""
    alone, both = pilot_of(of_sets(tiny=False)), pilot_of(of_sets())
    assert (alone.n_sets, both.n_sets, both.models_together, len(both.models)) == (1, 2, 3, 6)
    assert alone.icc is not None
    assert both.icc is not None
    assert both.icc < alone.icc + 0.1 < 0.2
    assert both.icc_high is not None
    assert both.icc_high < 0.3
    assert both.question()["models"] == 3


def test_the_plan_says_how_many_sets_there_were(tmp_path: Path) -> None:
    """Guards that a pooled number is called one; and that about equal workers are not said to weigh less."""
    write_tables(of_sets(), tmp_path)
    text = " ".join(call("--pilot", str(tmp_path), "--gap", "0.1").stdout.split())
    assert "42 raters, the ICC pooled over 2 sets of models)" in text
    assert "as good as" not in text


def test_nearly_equal_workers_are_called_that() -> None:
    """Guards that “100 workers are worth 100” is not said."""
    notes = plan_study(ask(technique="pw_dialog", gap=0.1, worker_inequality=0.06)).notes
    assert any("nearly equal numbers, --worker-inequality 0.06" in note for note in notes)
    assert not any("raters are worth" in note for note in notes)


def test_answers_given_again_by_a_pilot(tmp_path: Path) -> None:
    """Guards that ``plan`` has the option that the error names, and that it is not silently without effect."""
    tables = compared()
    again = pd.concat([tables.comparisons, tables.comparisons[:3]], ignore_index=True)
    write_tables(replace(tables, comparisons=again), tmp_path)
    refused = call("--pilot", str(tmp_path), "--gap", "0.1")
    assert refused.exit_code == 2
    assert "--repeats" in refused.stderr
    counted = call("--pilot", str(tmp_path), "--gap", "0.1", "--repeats", "first", "--json")
    assert counted.exit_code == 0, counted.stderr
    assert json.loads(counted.stdout)["pilot"]["n_judgements"] == len(tables.comparisons)
    alone = call("--gap", "0.1", "--repeats", "first")
    assert alone.exit_code == 2
    assert "name its tables with --pilot" in alone.stderr


def test_a_pilot_without_technique_says_which_it_can_be(tmp_path: Path) -> None:
    """Guards the advice: the option by name, and what such a table can be of."""
    tables = example_tables()
    write_tables(Tables(**NOTHING, segments=tables.segments.assign(technique=None, setting=None)), tmp_path)
    result = call("--pilot", str(tmp_path), "--gap", "0.1")
    assert result.exit_code == 2
    assert "set --technique (spot_the_bot:" in result.stderr


def test_a_pilot_of_ties_alone(tmp_path: Path) -> None:
    """Guards the words: nobody typed a discordance of 0; with one that is typed the plan is made."""
    turns = of_sets(tiny=False).turns.assign(setting="sata_random", selected=1)
    write_tables(Tables(**{**NOTHING, "turns": typed("turns", turns)}), tmp_path)
    result = call("--pilot", str(tmp_path), "--gap", "0.1")
    assert result.exit_code == 2
    assert "the pilot has only ties" in result.stderr
    assert "add --discordance" in result.stderr
    assert call("--pilot", str(tmp_path), "--gap", "0.1", "--discordance", "0.4").exit_code == 0
    tied = compared().comparisons.assign(winner="tie")
    with pytest.raises(PlanError, match="the pilot contains only ties"):
        pilot_of(Tables(**{**NOTHING, "comparisons": typed("comparisons", tied)}), "pw_dialog")


def test_times_of_programs_are_no_prices(tmp_path: Path) -> None:
    """Guards that a simulated pilot, whose answers take no time, is not planned at no cost, and is told."""
    tables = compared()
    simulated = tables.comparisons.assign(simulated=1, seconds=0.01)
    write_tables(replace(tables, comparisons=simulated), tmp_path)
    found = json.loads(call("--pilot", str(tmp_path), "--gap", "0.2", "--json").stdout)
    assert found["pilot"]["minutes"] is None
    assert found["pilot"]["n_simulated"] == 60
    assert found["cost"] == plan_study(ask(gap=0.2, **pilot_of(tables).question() | {"minutes": None})).cost
    assert any("All raters of the pilot are simulated" in note for note in found["notes"])
    mixed = simulated.assign(simulated=(tables.comparisons["worker_id"] != "w1").astype(int), seconds=30.0)
    mixed.loc[mixed["simulated"] == 1, "seconds"] = 0.01
    of_both = pilot_of(replace(tables, comparisons=typed("comparisons", mixed)))
    assert (of_both.minutes, of_both.n_simulated) == (0.5, 59)


def test_studies_that_end_when_decided_have_the_workers_of_the_pilot(tmp_path: Path) -> None:
    """Guards the way from tables to simulated workers: likeness, inequality and judgements of each; typed ones win."""
    write_tables(compared(lean=LEANING), tmp_path)
    asked = ("--pilot", str(tmp_path), "--gap", "0.4", "--stop", "decided", "--replicates", "100", "--json")
    result = call(*asked, "--reuse", "1")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    pilot, stop = found["pilot"], found["stop"]
    assert stop["icc"] == pilot["icc"]
    assert stop["dialogues_per_worker"] == pilot["dialogues_per_worker"]
    assert stop["heavy_tail"] == pytest.approx(np.sqrt(np.log1p(pilot["worker_inequality"] ** 2)))
    assert json.loads(call(*asked, "--reuse", "1", "--icc", "0.3").stdout)["stop"]["icc"] == 0.3
    assert "--reuse 1" in call(*asked).stderr, "its dialogues differ"


def rated(raters: int = 120, *, within: float = 0.1, between: float = 0.2, each: int = 3, seed: int = 0) -> Tables:
    """Two sliders from 0 to 100 in a chat with each of three models, of which a rater has ``each`` chats."""
    rng = np.random.default_rng(seed)
    level = rng.normal(0, between, raters)
    rows = [
        {
            "dialogue_id": f"d{rater}-{model}",
            "worker_id": f"w{rater}",
            "model": "xyz"[model],
            "criterion": criterion,
            "value": float(np.clip(mean + above, 0, 100)),
            "technique": "direct_assessment",
            "scale": "slider",
        }
        for rater in range(raters)
        for model in ((rater + place) % 3 for place in range(each))
        for mean in [50 + 100 * (level[rater] + rng.normal(0, within))]
        for criterion, above in (("fluent", -5), ("relevant", 5))
    ]
    return Tables(**{**NOTHING, "ratings": typed("ratings", pd.DataFrame(rows))})


def test_how_ratings_vary_is_estimated_and_planned_with(tmp_path: Path) -> None:
    """Guards both components against what the ratings were made of, a plan that stops once decided, and its registration."""
    found = pilot_of(rated())
    assert found.rating_sd == pytest.approx(0.1, abs=0.02)
    assert found.rater_sd == pytest.approx(0.2, abs=0.05)
    assert (found.rating_sd_low or 1) < 0.1 < (found.rating_sd_high or 0)
    assert (found.rater_sd_low or 1) < 0.2 < (found.rater_sd_high or 0)
    write_tables(rated(), tmp_path / "pilot")
    told = ["--pilot", str(tmp_path / "pilot"), "--gap", "0.4", "--stop", "decided", "--replicates", "100"]
    registered = ["--prereg", str(tmp_path / "study.md"), "models=[x,y,z]", "quality_control_model=''"]
    result = call(*told, "--technique", "direct_assessment", *registered, "--json")
    assert result.exit_code == 0, result.stderr
    stop = json.loads(result.stdout)["stop"]
    assert (stop["rating_sd"], stop["rater_sd"]) == (found.rating_sd, found.rater_sd)
    text = " ".join((tmp_path / "study.md").read_text().split())
    assert (
        f"{found.rating_sd:.3g} for one rater's ratings and {found.rater_sd:.3g} between raters (pilot with 120" in text
    )


def test_the_intervals_of_both_components_hold() -> None:
    """Guards against intervals that are too narrow for few raters: .95 in 200 small pilots, and none below four raters."""
    rng, held = np.random.default_rng(0), np.zeros(2)
    raters, models = np.repeat(np.arange(6), 3), np.tile(np.arange(3), 6)
    for _ in range(200):
        ratings = 0.1 * models + rng.normal(0, 0.14, 6)[raters] + rng.normal(0, 0.15, 18)
        parts = variance_components(ratings, raters, models)
        for place, (name, truth) in enumerate((("rating_sd", 0.15), ("rater_sd", 0.14))):
            held[place] += parts[f"{name}_low"] <= truth <= parts[f"{name}_high"]
    assert ((held / 200 > 0.9) & (held / 200 <= 0.99)).all(), held / 200


def test_few_raters_or_one_rating_of_each_are_said(tmp_path: Path) -> None:
    """Guards the plan against three raters who agree by chance, and against components that nothing separates."""
    few = pilot_of(rated(3))
    assert few.rating_sd is not None
    assert few.rating_sd_low is None
    assert "rating_sd" not in few.question()
    alone = pilot_of(rated(60, each=1))
    assert alone.rating_sd == pytest.approx(np.hypot(0.1, 0.2), abs=0.04)
    assert (alone.question()["rater_sd"], alone.rater_sd_high) == (0.0, None)
    for pilot, words in ((few, "Fewer than 4 raters do not show"), (alone, "also contains the differences between")):
        asked = ask(gap=0.2, **pilot.question())
        notes = with_pilot(plan_study(asked), asked, pilot, {}).notes
        assert any(words in note for note in notes)


def test_what_is_wrong_with_a_pilots_table_keeps_its_advice(tmp_path: Path) -> None:
    table = tmp_path / "comparisons.csv"
    table.write_bytes("model\nré\n".encode("latin-1"))
    with pytest.raises(PlanError, match="not text") as refused:
        read_pilot(table)
    (problem,) = refused.value.problems
    assert problem.where == f"--pilot {table}: {table}, line 2"
    assert problem.try_[0].startswith("save it")
