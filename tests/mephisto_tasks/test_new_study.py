"""A study that is set up: a launch takes its file, its figures are the planner's, and wrong choices are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from mephisto_tasks.cli import new_page
from mephisto_tasks.cli.new_page import NewPage, _field
from mephisto_tasks.config.files import check_models, technique_of_file
from mephisto_tasks.config.names import ConfigError
from mephisto_tasks.crowds.mturk.settings import CLOSED
from mephisto_tasks.launch.config import compose_config
from mephisto_tasks.launch.new_study import (
    Choices,
    bars,
    choices_of,
    draft,
    fields,
    first_reply,
    published_question,
    write_study,
)
from mephisto_tasks.launch.preparation import check_dialogues, checked_settings
from parlai_humaneval.cli import main
from parlai_humaneval.models.zoo.entries import ZooError, load_zoo
from parlai_humaneval.planning.inputs import ask
from parlai_humaneval.planning.plan import plan_study
from parlai_humaneval.techniques.registry import technique, techniques


def new(*arguments: str, typed: str = "") -> tuple[int, str, str]:
    """Status, standard output and standard error."""
    done = CliRunner().invoke(main, ["new", *arguments], input=typed)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout, done.stderr


def launched(path: Path, *more: str) -> dict[str, Any]:
    """The settings with which `launch FILE` runs the study."""
    task, chosen = technique_of_file(str(path), ())
    config = compose_config(task, chosen[0].removeprefix("conf="), more)
    settings = checked_settings(task, config)
    check_dialogues(settings, path.parent)
    return {**settings.model_dump(mode="json"), "task_name": str(config.mephisto.task.task_name), "task": task}


@pytest.mark.parametrize("name", techniques())
def test_a_launch_takes_what_is_written(name: str, tmp_path: Path) -> None:
    """Of each technique; every setting has a comment above it."""
    path = tmp_path / "study.yaml"
    made = draft(Choices(technique=name, settings={"task_name": "mine", "language": "zh"}), path)
    assert made.problems == []
    assert write_study(made, path) == [path]
    settings = launched(path)
    assert (settings["task"], settings["task_name"], settings["language"]) == (name, "mine", "zh")
    if made.estimate is not None and made.estimate.amount is not None:
        assert settings[technique(name).amount] == made.estimate.amount
    lines = made.text.splitlines()
    keys = [number for number, line in enumerate(lines) if line[:1].isalpha() and not line.startswith("technique:")]
    assert len(keys) >= 5
    assert all(lines[number - 1].startswith("# ") for number in keys)


def test_what_is_collected_is_told_apart_from_what_is_kept(tmp_path: Path) -> None:
    """As by the planner: all turns of the dialogues are collected and paid, and checks drop some."""
    made = draft(Choices(gap=0.5, settings={"turns": 3}), tmp_path / "study.yaml")
    found, text = made.estimate, " ".join(made.text.replace("\n#", "").split())
    assert found is not None
    assert found.judgements < found.collected == 3 * found.dialogues
    assert f"{found.collected} turns to collect in {found.dialogues} dialogues ({found.judgements} kept) from" in text


def test_a_box_for_a_model_may_be_empty(tmp_path: Path) -> None:
    """Guards the page, where a box is there before anything is typed into it."""
    assert draft(Choices(settings={"models": ["eliza", "", "retrieval"]}), tmp_path / "study.yaml").problems == []
    (problem,) = draft(Choices(settings={"models": ["eliza", " "]}), tmp_path / "study.yaml").problems
    assert "at least 2 models must be named" in problem


def test_texts_come_through_letter_for_letter(tmp_path: Path) -> None:
    """Whatever YAML and Hydra read into quotes, commas, braces and lines."""
    path, question = tmp_path / "study.yaml", "Which one: 'this', \"that\" or {neither}?\n# null, $x \\ 好"
    write_study(draft(Choices(settings={"question": question, "pay": "no"}), path), path)
    settings = launched(path)
    assert (settings["question"], settings["pay"]) == (question, "no")


def test_the_figures_are_those_of_the_plan(tmp_path: Path) -> None:
    """With the amount that the gap needs; fewer dialogues have less power and cost less."""
    choices = Choices(gap=0.2, settings={"task_reward": 1.5, "turns": 4})
    planned = plan_study(ask(technique="pw_turn", gap=0.2, models=2, turns=4, pay=1.5, fee=0.0))
    found = draft(choices, tmp_path / "study.yaml").estimate
    assert found is not None
    assert (found.dialogues, found.hours, found.cost) == (planned.n_dialogues, planned.hours, planned.cost)
    fewer = {**choices.settings, "dialogues_per_group": (found.amount or 0) // 2}
    halved = draft(choices.model_copy(update={"settings": fewer}), tmp_path / "study.yaml").estimate
    assert halved is not None
    assert halved.power < 0.6 < found.power
    assert halved.cost == pytest.approx(found.cost / 2, rel=0.02)


def test_a_chat_that_raters_end_is_as_long_as_the_plan_expects(tmp_path: Path) -> None:
    """Not as short as it may be: the figures next to the technique, and those of the study, are the same hours."""
    (card,) = (bar for bar in bars(Choices(gap=0.2)) if bar.technique == "arena")
    found = draft(Choices(technique="arena", gap=0.2), tmp_path / "study.yaml").estimate
    assert found is not None
    assert found.hours == card.hours
    longer = Choices(technique="arena", gap=0.2, settings={"turns": 10})
    assert (draft(longer, tmp_path / "study.yaml").estimate or found).hours > 1.5 * found.hours


@pytest.mark.parametrize("name", ["sata", "free_for_all", "arena", "direct_assessment", "pw_turn", "single_model"])
@pytest.mark.parametrize("turns", [2, 4, 20])
def test_turns_that_are_set_are_those_of_the_plan(name: str, turns: int, tmp_path: Path) -> None:
    """Few as well: the papers' turns are only expected where raters may chat on after the papers' minimum. Where they
    may chat on after yours, the study says so."""
    made = draft(
        Choices(technique=name, gap=0.2, settings={"turns": turns, "models": list("abc")}), tmp_path / "s.yaml"
    )
    found, each = made.estimate, 3 if name == "direct_assessment" else 1
    assert found is not None, made.problems
    plan = plan_study(ask(technique=name, gap=0.2, models=3, turns=turns, fee=0.0, dialogues_per_worker=each))
    assert (found.dialogues, found.hours, found.power) == (plan.n_dialogues, plan.hours, plan.power)
    assert found.collected == plan.n_judgements_collected
    assert (f"Raters may chat on after {turns} turns." in made.remark) == (name not in {"pw_turn", "single_model"})


def test_turns_after_which_raters_chat_on_are_those_of_packaged_studies() -> None:
    """Guards what raters are told about the length: after these minimums, and no others, chats are as long as in papers."""
    for name, entry in techniques("live").items():
        studies = [compose_config(name, conf).mephisto.blueprint for conf in choices_of(name, "conf")]
        minimums = {study.turns for study in studies if study.rater_ends}
        assert entry.habits is not None
        assert set(entry.habits.minimums) == minimums, name


def test_raters_of_a_crowd_get_the_wage(tmp_path: Path) -> None:
    """The reward is written where none was chosen, and settings that only the launch can know are named."""
    made = draft(Choices(settings={"place": "prolific"}, wage=18.0), tmp_path / "study.yaml")
    assert made.estimate is not None
    content = yaml.safe_load(made.text)
    assert content["task_reward"] == made.estimate.reward == pytest.approx(18 * 89 * 6 / 3600, abs=0.01)
    assert made.problems == []
    assert made.missing == ["public_url"]
    assert "launch" in made.text
    assert "public_url=…" in made.text


def test_a_model_of_ones_own_is_written_next_to_the_study(tmp_path: Path) -> None:
    """As an entry that the launch's zoo reads, and that answers."""
    (tmp_path / "my_bot.py").write_text("def reply(history):\n    return 'Why?'\n", encoding="utf-8")
    path, bot = tmp_path / "study.yaml", str(tmp_path / "my_bot.py")
    made = draft(Choices(settings={"models": ["eliza", bot]}), path)
    files = write_study(made, path)
    settings = launched(path)
    assert settings["models"] == ["eliza", "my_bot"]
    assert settings["zoo_files"] == [str(files[1])]
    assert yaml.safe_load(made.text)["zoo_files"] == [files[1].name], "the folder may be moved"
    assert "my_bot" in load_zoo(more=settings["zoo_files"])
    assert "function: my_bot.py:reply\n" in made.zoo, "the model moves with it"
    assert first_reply(bot).reply == "Why?"


@pytest.mark.parametrize(
    ("bot", "study", "written"), [("bots.py", "pilot/a", "../../bots.py"), ("code/bots.py", "pilot", "../code/bots.py")]
)
def test_a_function_outside_of_the_studys_folder_moves_with_it(
    bot: str, study: str, written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards a project that is cloned elsewhere. A launch reads the path from the YAML's folder, wherever it runs."""
    project = tmp_path / "project"
    for folder in (project / bot).parent, project / study, tmp_path / "elsewhere":
        folder.mkdir(parents=True, exist_ok=True)
    (project / bot).write_text("def reply(history):\n    return 'Why?'\n", encoding="utf-8")
    monkeypatch.chdir(project)
    path = Path(study) / "study.yaml"
    write_study(draft(Choices(settings={"models": ["eliza", bot]}), path), path)
    project.rename(tmp_path / "moved")
    monkeypatch.chdir(tmp_path / "elsewhere")
    files = launched(tmp_path / "moved" / path)["zoo_files"]
    assert load_zoo(more=files)["bots"].options["function"] == f"{written}:reply"
    assert first_reply("bots", files).reply == "Why?"


def test_a_function_with_no_folder_in_common_keeps_its_whole_path(tmp_path: Path) -> None:
    """Guards a study that is moved away from a function of the machine; a path through the root would not reach it."""
    bot = tmp_path / "bots.py"
    bot.write_text("def reply(history):\n    return 'Why?'\n", encoding="utf-8")
    made = draft(Choices(settings={"models": ["eliza", str(bot)]}), Path("/nowhere/study.yaml"))
    assert f"function: {bot}:reply\n" in made.zoo


def test_a_function_that_was_mended_is_asked_again(tmp_path: Path) -> None:
    """Guards whoever corrects a function while the page is open."""
    bot = tmp_path / "bots.py"
    bot.write_text("def reply(history):\n    return history[5].text\n", encoding="utf-8")
    assert first_reply(str(bot)).why.endswith("IndexError: list index out of range (bots.py, line 2)")
    bot.write_text("def reply(history):\n    return 'Why?'\n", encoding="utf-8")
    assert first_reply(str(bot)).reply == "Why?"


def test_a_model_is_named_by_its_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One alone is compared with a built-in one; the setting is the same thing, so both at once are refused.
    A second file is a second study."""
    monkeypatch.chdir(tmp_path)
    Path("bots.py").write_text("def reply(history):\n    return 'Why?'\n", encoding="utf-8")
    code, out, _ = new("--yes", "--json", "--model", "bots.py")
    assert (code, yaml.safe_load(json.loads(out)["text"])["models"]) == (0, ["bots", "retrieval"])
    code, out, _ = new("--yes", "--json", "--force", *(f"--model={name}" for name in ("eliza", "bots.py", "retrieval")))
    assert yaml.safe_load(Path("study.yaml").read_text(encoding="utf-8"))["models"] == ["eliza", "bots", "retrieval"]
    new("--yes", "--model", "bots.py", "--out", "q1.yaml")
    assert [launched(Path(file))["task_name"] for file in ("study.yaml", "q1.yaml")] == ["pw-turn-preference", "q1"]
    code, _, err = new("--yes", "--model", "bots.py", "models=[eliza,retrieval]")
    assert code == 2
    assert "--model and models=… are the same setting" in err


def test_functions_of_one_file_are_models_by_their_names(tmp_path: Path) -> None:
    """Guards the first comparison that people think of: two versions of a function. A name of the zoo stays its model's,
    and the same function twice is one."""
    bot = tmp_path / "my_bot.py"
    bot.write_text("".join(f"def {name}(history):\n    return 'Why?'\n" for name in ("reply", "curious", "eliza")))
    made = draft(Choices(settings={"models": [str(bot), f"{bot}:curious", f"{bot}:eliza"]}), tmp_path / "study.yaml")
    files = write_study(made, tmp_path / "study.yaml")
    names = ["my_bot", "curious", "my_bot_eliza"]
    assert launched(tmp_path / "study.yaml")["models"] == names
    assert set(names) <= load_zoo(more=[str(files[1])]).keys()
    made = draft(Choices(settings={"models": [f"{bot}:curious", "retrieval"]}), tmp_path / "other.yaml")
    assert "models: [curious, retrieval]" in made.text, "alone as well: another study may have another function"
    (twice,) = draft(Choices(settings={"models": [str(bot), str(bot)]}), tmp_path / "study.yaml").problems
    assert "compared with itself" in twice


def test_a_paper_is_begun_with_as_it_was(tmp_path: Path) -> None:
    """Guards its models, its question and its number, which the gap does not change; the file names its conf."""
    path, conf = tmp_path / "study.yaml", "smith2022_size_humanness"
    choices = Choices(settings={"conf": conf})
    assert conf in choices_of("pw_turn", "conf")
    assert "more human" in published_question(choices)
    made = draft(choices, path)
    published = compose_config("pw_turn", conf).mephisto.blueprint.dialogues_per_group
    assert (made.problems, made.estimate and made.estimate.amount) == ([], published)
    write_study(made, path)
    assert yaml.safe_load(made.text)["conf"] == conf
    assert launched(path)["models"] == ["blender_3B", "blender_90M"]
    wrong = draft(Choices(settings={"conf": "smith2022_size_humannes"}), path)
    assert "Did you mean smith2022_size_humanness" in wrong.problems[0]


def test_samples_are_not_taken_for_a_study(tmp_path: Path) -> None:
    """They are too few for the gap, so the amount stays one that they serve."""
    made = draft(Choices(technique="pw_dialog"), tmp_path / "study.yaml")
    assert made.estimate is not None
    assert (made.estimate.amount or 0) < (made.estimate.planned or 0)
    assert "samples" in made.remark


def test_a_study_that_ends_when_it_is_decided_has_no_number(tmp_path: Path) -> None:
    """Its plan is another one, which the remark says."""
    path, settings = tmp_path / "study.yaml", {"stop": "decided", "margin": 0.1, "max_dialogues": 400}
    made = draft(Choices(settings=settings), path)
    write_study(made, path)
    assert "dialogues_per_group" not in yaml.safe_load(made.text)
    assert "reaches a decision" in made.remark
    assert launched(path)["max_dialogues"] == 400


@pytest.mark.parametrize(
    ("name", "place"), [("direct_assessment", "link"), ("free_for_all", "link"), ("sata", "prolific")]
)
def test_a_technique_costs_the_same_in_the_list_as_in_the_study(name: str, place: str, tmp_path: Path) -> None:
    """Guards a list with a site's fee next to a study without one, and one with other lengths than the study's. Other
    techniques have the fee of the place, too."""
    choices = Choices(technique=name, settings={"place": place})
    found = draft(choices, tmp_path / "study.yaml").estimate
    assert found is not None
    drawn = {bar.technique: bar.cost for bar in bars(choices, found)}
    assert drawn[name] == found.cost > 0
    usual = {bar.technique: bar.cost for bar in bars(Choices())}
    share = 1.2 if place == "link" else 1
    assert drawn["pw_turn"] * share == pytest.approx(usual["pw_turn"], rel=0.001)
    fewer = found.model_copy(update={"amount": 1, "cost": 1.0})
    assert 1.0 not in {bar.cost for bar in bars(choices, fewer)}, "the list is for the gap"


def test_every_technique_that_can_be_planned_is_drawn_the_cheapest_first() -> None:
    """Self-chats as the technique that launches them."""
    found = bars(Choices(gap=0.1))
    assert {bar.technique for bar in found} == set(techniques()) - {"third_party"}
    assert [bar.cost for bar in found] == sorted(bar.cost for bar in found)


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (["models=[elizza,retrieval]"], "no model is called “elizza”. Did you mean eliza?"),
        (["--gap", "0"], "--gap 0 is not a share between 0 and 1"),
        (["language=xx"], "there is no language 'xx'"),
        (["turn=3"], "there is no setting 'turn'"),
        (["turns=many"], "turns: "),
        (["turns"], "'turns' is not a setting"),
        (["--out", "nowhere/study.yaml"], "cannot be written"),
    ],
)
def test_wrong_choices_are_named_and_nothing_is_written(
    chosen: list[str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same checks as at the launch, before it."""
    monkeypatch.chdir(tmp_path)
    status, _, said = new("--yes", *chosen)
    assert status != 0
    assert expected in said
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_only_replaced_when_somebody_says_so(tmp_path: Path) -> None:
    """Not by --yes, which agrees to the defaults."""
    path = tmp_path / "study.yaml"
    path.write_text("mine", encoding="utf-8")
    status, _, said = new("--yes", "--out", str(path))
    assert (status, path.read_text(encoding="utf-8")) == (1, "mine")
    assert "already exists" in said
    status, printed, _ = new("--yes", "--force", "--json", "--out", str(path), "turns=4")
    assert status == 0
    assert json.loads(printed)["files"] == [str(path)]
    assert launched(path)["turns"] == 4


def test_questions_in_the_terminal(tmp_path: Path) -> None:
    """Models answer, costs are drawn, a wrong answer is asked for again in the unit of the question, and what the study
    takes is told once the technique is chosen and after each change of it."""
    path = tmp_path / "study.yaml"
    wrong_at_first = ["nowhere,eliza", "", "0", "20", "pw_trn", "pw-turn"]
    answers = [*wrong_at_first, "", "my-study", "humanness", "", "4", "", "xx", "en", "prolific", ""]
    status, printed, _ = new("--terminal", "--out", str(path), "--model", "elizza", typed="\n".join(["", *answers, ""]))
    assert status == 0, printed
    assert "no model is called “elizza”" in printed
    assert "no model is called “nowhere”" in printed
    assert "Continue with these models?" not in printed, "no launch could"
    assert "eliza: “" in printed
    assert "█" in printed
    assert "no study finds a gap of 0 points; enter more than 0 and less than 100 points" in printed
    assert "--gap" not in printed
    assert "there is no technique 'pw_trn'. Did you mean pw_turn?" in printed
    assert "there is no language 'xx'" in printed
    assert CLOSED.partition(":")[0] in " ".join(printed.split())
    after_technique, _, rest = printed.partition("conf [local]")
    assert "take 10.7 hours, unpaid" in after_technique
    after_turns, _, after_place = rest.partition("place [local]")
    assert "take 10.4 hours, unpaid" in after_turns
    assert "take 10.4 hours and $" in after_place.partition("task_reward [")[0]
    settings = launched(path, "public_url=https://my.host", "requester_name=me")
    assert (settings["task_name"], settings["metric"], settings["turns"]) == ("my-study", "humanness", 4)


def test_a_model_alone_is_compared_and_a_place_is_one_that_there_is(tmp_path: Path) -> None:
    """Guards an interview whose study cannot be launched; one problem does not hide the next answer's."""
    path = tmp_path / "study.yaml"
    answers = ["eliza", "", "", "", "", "", "", "", "", "", "lokal", "local", "", ""]
    status, printed, _ = new("--terminal", "--out", str(path), typed="\n".join(answers))
    assert status == 0, printed
    assert "Compared with: retrieval" in printed
    assert "there is no place 'lokal'. Did you mean local?" in printed
    assert launched(path)["models"] == ["eliza", "retrieval"]
    (problem,) = draft(Choices(settings={"models": ["eliza"], "place": "lokal"}), path).problems
    assert "there is no place" in problem


def test_a_gap_is_told_of_in_the_unit_in_which_it_was_given(tmp_path: Path) -> None:
    """Of the option as a share, before a page is served; on the page as points."""
    status, *_ = new("--gap", "0")
    assert status == 2
    (problem,) = draft(Choices(gap=0), tmp_path / "study.yaml").problems
    assert "0 points" in problem


def test_a_missing_file_is_told_with_what_could_be_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of the folder, a packaged config file, or how to make one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.yaml").touch()
    for typed, hint in {
        "stdy.yaml": "Did you mean .*/study.yaml",
        "smith2022_size.yaml": "pw_dialog conf=smith2022_size_humanness, ",
        "nosuch.yaml": "`parlai-humaneval new` writes such a file",
    }.items():
        with pytest.raises(ConfigError, match=hint):
            technique_of_file(typed, ())


def test_a_study_is_never_taken_for_a_file_that_it_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the hint where a zoo file is missing. A study given to `report` is told by the name that it has there."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "zoos.yaml"
    path.write_text("technique: pw_turn\ntask_name: q2\nzoo_files: [zoo.yaml]\nmodels: [a, b]\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"line 3: zoo_files: there is no file zoo\.yaml; type its path"):
        check_models(technique("pw_turn"), [f"conf={path}"])
    assert "name a task (--task-name q2)" in CliRunner().invoke(main, ["report", "zoos.yaml"]).output


def test_the_page_says_that_a_place_is_closed() -> None:
    """Guards whoever chooses MTurk, where nobody can launch any more."""
    (place,) = [setting for setting in fields("pw_turn") if setting.name == "place"]
    assert CLOSED in _field("pw_turn", place)["description"]


def test_a_study_of_another_technique_is_refused(tmp_path: Path) -> None:
    """A file that names its technique is launched by its name alone, or with that technique."""
    path = tmp_path / "study.yaml"
    path.write_text("technique: sata\nturns: 3\n", encoding="utf-8")
    assert technique_of_file(str(path), ("seed=1",)) == ("sata", (f"conf={path}", "seed=1"))
    with pytest.raises(ConfigError, match="this study uses sata, not pw_turn"):
        compose_config("pw_turn", str(path))
    assert technique_of_file("pw_turn", (str(path), "seed=1")) == ("pw_turn", (f"conf={path}", "seed=1"))
    refused = CliRunner().invoke(main, ["launch", "pw_turn", str(path)])
    assert "line 1: this study uses sata, not pw_turn" in refused.output


def test_a_zoo_file_that_is_not_there_is_told_with_where_it_was_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards who forgets a study's models; files stand beside the study, or in the current folder."""
    (folder := tmp_path / "study").mkdir()
    (folder / "study.yaml").write_text(
        "technique: pw_turn\nmodels: [mine, eliza]\nzoo_files: [zoox.yaml]\n", encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    told = CliRunner().invoke(main, ["launch", "study/study.yaml"]).output
    assert "study.yaml, line 3: zoo_files: there is no file zoox.yaml" in told
    assert f"type its path from {folder} or {tmp_path}, or its full path" in told
    with pytest.raises(ZooError, match=rf"{tmp_path}/zoox\.yaml"):
        load_zoo(more=["zoox.yaml"])


def test_the_page_cites_no_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards errors on the page of `new` that advise options of a terminal, such as --force above its button."""
    (tmp_path / "index.html").touch()
    monkeypatch.setattr(new_page, "BUILT", tmp_path)
    page = NewPage(Choices(), tmp_path / "study.yaml")
    asked = {"choices": {"settings": {"models": ["eliza", "retrieval"]}}}
    (tmp_path / "study.yaml").touch()
    with pytest.raises(ConfigError) as refused:
        page._write(asked)
    assert refused.value.on_page() == f"{tmp_path / 'study.yaml'}: already exists"
    drawn = page._draft({"choices": {"settings": {"models": ["elizza", "retrieval"]}}})
    assert drawn["problems"] == ["no model is called “elizza”. Did you mean eliza?"]
