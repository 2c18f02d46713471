"""Releases and logs of others, by name and without: the numbers are those of plain counting in the files themselves."""

from __future__ import annotations

import csv
import json
import re
import zipfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, get_args

import pytest
from release_counts import RATINGS, SAMPLES, VOTES, arena, inspect_log, paths_of, rows_of
from tool_exports import unknown_fields

from parlai_humaneval.cli.import_data import ALIASES, RELEASES, SAVED
from parlai_humaneval.importers.releases import _origin, releases
from parlai_humaneval.report.build import build_report
from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.comparisons import build
from parlai_humaneval.tables.files import read_tables
from parlai_humaneval.tables.schema import TableName
from parlai_humaneval.viewer.entries import entries

PAGES = Path(__file__).parents[3] / "docs" / "pages" / "analysis"


@pytest.mark.parametrize("name", VOTES)
def test_votes_are_those_of_the_file(command, name: str):
    """Also without the release's name: then it says what it took the file for."""
    release, counted, raters = VOTES[name]
    done = command(*paths_of(name))
    assert done.exit_code == 0, done.stderr
    assert f"Read as --from {release}" in done.stderr
    got = read_tables(command.out).comparisons
    found = Counter(zip(got["model_a"], got["model_b"], got["winner"], strict=True))
    assert found == Counter(counted(name))
    assert got["worker_id"].nunique() == raters


def test_texts_of_pairs_are_kept(command):
    """Guards the viewer, which shows both dialogues of each answer."""
    assert command(SAMPLES / "acute_lines.jsonl").exit_code == 0
    row = read_tables(command.out).comparisons.iloc[0]
    texts = [json.loads(row[f"conversation_{side}"])[1]["text"] for side in "ab"]
    assert (row["model_a"], row["dialogue_a"], texts) == ("heron", "d2", ["I stand in it.", "I swim in it."])
    assert (row["reason"], row["technique"]) == ("it is calm", "pw_dialog")


@pytest.mark.parametrize(
    ("name", "said"),
    {
        "usr_sheet.json": [("speaker_1", "Hi 0"), ("heron", "heron says 0")],
        "fed_sheet.json": [("human", "Hi 0"), ("heron", "heron")],
        "preference_pairs.jsonl": [("human", "Question 0"), ("heron", "Yes.")],
        "summaries.jsonl": [("human", "A long post."), ("heron", "S3")],
        "arena_one_hot.csv": [("human", "What is rain?"), ("heron", "Drops.")],
        "alpaca_annotations.json": [("human", "Explain word 0."), ("heron", "One.")],
        "pandalm_testset.json": [("human", "i"), ("opt-7b", "s")],
        "summeval.jsonl": [("heron", "s")],
        "ultrafeedback.jsonl": [("human", "i0"), ("heron", "r")],
        "prism_utterances.jsonl": [("human", "Hi"), ("heron", "Yes.")],
        "see2019_logs.jsonl": [("greedy", "hi")],
    }.items(),
)
def test_texts_of_releases_are_in_the_viewer(command, name: str, said: list[tuple[str, str]]):
    """The context and what each model said, turn by turn."""
    assert command(SAMPLES / name).exit_code == 0
    found = entries(read_tables(command.out))
    assert not any("no texts" in one.facets["mark"] for one in found)
    talks = {talk["title"]: talk["lines"] for one in reversed(found) for talk in one.talks.values()}
    assert [(line["who"], line["text"]) for line in talks[said[-1][0]]] == said


@pytest.mark.parametrize(
    ("source", "name"), [("arena", "arena_votes.jsonl"), ("acute", "run.full.csv"), ("dstc", "fed_sheet.json")]
)
def test_a_release_by_its_name(command, source: str, name: str):
    """It need not be recognised then; other names for it are known."""
    done = command("--from", source, SAMPLES / name)
    assert (done.exit_code, "Read as" in done.stderr) == (0, False)


def test_win_rates_in_the_report_are_those_of_plain_counting(command):
    """Of the arena's votes, ties as half a win."""
    assert command(SAMPLES / "arena_conversations.jsonl").exit_code == 0
    section = build(read_tables(command.out), Options(draws=10))
    assert section is not None
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for a, b, winner in arena("arena_conversations.jsonl"):
        counts[a, b][winner] += 1
    told = {(one.model_a, one.model_b): (one.wins_a, one.wins_b, one.ties) for one in section.pairs}
    assert told == {(a, b): (found[a], found[b], found["tie"]) for (a, b), found in counts.items()}


@pytest.mark.parametrize("name", RATINGS)
def test_ratings_are_those_of_the_file(command, name: str):
    release, counted, raters = RATINGS[name]
    done = command(*paths_of(name))
    assert done.exit_code == 0, done.stderr
    assert f"Read as --from {release}" in done.stderr
    got = read_tables(command.out).ratings
    found = Counter(zip(got["model"], got["criterion"], map(float, got["value"]), strict=True))
    assert found == Counter((model, criterion, float(value)) for model, criterion, value in counted(name))
    assert got["worker_id"].nunique() == raters


def test_a_log_of_inspect_in_a_zip_file_is_the_same(command, tmp_path: Path):
    """As Inspect writes it by default: a header, and a file for each sample."""
    log: Any = rows_of("inspect_log.json")
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as packed:
        packed.writestr("header.json", json.dumps({name: log[name] for name in log if name != "samples"}))
        for sample in log["samples"]:
            packed.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
    assert command(tmp_path / "log.eval").exit_code == 0
    got = read_tables(command.out).ratings
    assert sorted(got["value"]) == sorted(value for *_, value in inspect_log("inspect_log.json"))


def test_scales_and_items(command):
    """USR's scales are those of its paper; judges of the same two answers of MT-bench share an item."""
    assert command(SAMPLES / "usr_sheet.json").exit_code == 0
    ratings = read_tables(command.out).ratings
    ends = set(zip(ratings["criterion"], ratings["minimum"], ratings["maximum"], strict=True))
    assert ends == {("Understandable", 0, 1), ("Natural", 1, 3), ("Overall", 1, 5)}
    assert command(SAMPLES / "mt_bench_human.jsonl", "--force").exit_code == 0
    votes = read_tables(command.out).comparisons
    assert votes.groupby("item_id")["worker_id"].nunique().tolist() == [3, 3, 3, 3]
    assert votes.groupby("start")["item_id"].nunique().tolist() == [2, 2]


def test_names_of_raters_do_not_pass_through(command):
    """ParlAI's own analysis has them in a column besides."""
    assert command(SAMPLES / "run.full.csv").exit_code == 0
    assert "TURKER" not in (command.out / "comparisons.csv").read_text()


@pytest.mark.parametrize("release", ["usr", "fed"])
def test_a_list_of_raters_names_who_gave_each_rating(command, tmp_path: Path, release: str):
    """As USR published its sheets: three raters of a few for each context, by their initials, which nobody may read."""
    rows: list[Any] = []
    for number, raters in enumerate([["sm", "me", "er"], ["er", "sm", "jd"]]):
        row: dict[str, Any] = {"context": f"Hi {number}", "annotators": raters}
        given = {"Overall": [1 + number, 2, 3 - number]}
        if release == "usr":
            rows.append({**row, "responses": [{"response": "r", "model": model, **given} for model in "AB"]})
        else:
            rows += [{**row, "response": "r", "system": model, "annotations": given} for model in "AB"]
    path = tmp_path / "sheet.json"
    path.write_text(json.dumps(rows))
    done = command("--from", release, path)
    assert done.exit_code == 0, done.output
    ratings = read_tables(command.out).ratings
    by_rater = {tuple(values) for values in ratings.groupby("worker_id")["value"].apply(sorted)}
    assert by_rater == {(1, 1, 2, 2), (2, 2), (2, 2, 3, 3)}
    assert "annotators" not in ratings
    assert not {"sm", "me", "er", "jd"} & set(re.findall(r"\w+", (command.out / "ratings.csv").read_text()))
    assert "guessed: each list of ratings follows the order of annotators" in done.stderr
    assert "it is not known who gave each rating" not in done.stdout


@pytest.mark.parametrize("raters", [["sm", "me"], ["sm", "sm", "er"], ["sm", None, "er"], "sm, me, er"])
def test_raters_whose_list_fits_no_ratings_are_unknown(command, tmp_path: Path, raters: object):
    """Of another length, or with a name twice: nobody knows who gave which, and the names are left out all the same."""
    reply = {"response": "r", "model": "m", "Overall": [1, 2, 3]}
    path = tmp_path / "usr.json"
    path.write_text(json.dumps([{"fact": "f", "context": "c", "annotators": raters, "responses": [reply]}]))
    done = command(path)
    assert done.exit_code == 0, done.output
    assert "it is not known who gave each rating" in done.stdout
    assert "are left out: annotators" in done.stdout
    assert "guessed" not in done.stderr
    ratings = read_tables(command.out).ratings
    assert ratings["worker_id"].nunique() == 3
    assert "annotators" not in ratings


@pytest.mark.parametrize("name", ["raters", "annotators", "Judges", "worker_ids", "annotator", "evaluatorNames"])
def test_a_list_of_raters_never_passes_through(command, tmp_path: Path, name: str):
    """Whatever the release; how many raters there were is no name, and stays."""
    rows = [{**row, name: ["sm", "m" * 120], "n_raters": 2, "reviewers": 3} for row in rows_of("arena_votes.jsonl")]
    path = tmp_path / "votes.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    done = command("--from", "arena", path)
    assert done.exit_code == 0, done.output
    votes = read_tables(command.out).comparisons
    assert name not in votes
    assert f"are left out: {name}." in done.stdout
    assert "are kept: a_new_field, n_raters, reviewers." in done.stdout
    assert {"n_raters", "reviewers"} <= {*votes}


def test_an_unknown_field_is_a_remark(command):
    done = command(SAMPLES / "arena_votes.jsonl")
    assert "are kept: a_new_field" in done.stdout
    assert "a_new_field" in read_tables(command.out).comparisons


@pytest.mark.parametrize("inside", [False, True])
def test_an_unknown_field_of_ratings_is_a_remark(command, tmp_path: Path, inside: bool):
    """Also a text among the fields that are a criterion each."""
    reply = {"response": "r", "model": "m", "Overall": [1, 2], **({"editor": "Ann"} if inside else {})}
    row = {"fact": "f", "context": "c", "responses": [reply], **({} if inside else {"editor": "Ann"})}
    path = tmp_path / "usr.json"
    path.write_text(json.dumps([row]))
    done = command(path)
    assert done.exit_code == 0, done.output
    assert ("without a rating" if inside else "are kept") in done.stdout
    assert "editor" in done.stdout
    assert [*read_tables(command.out).ratings["value"]] == [1, 2]


@pytest.mark.parametrize(
    ("name", "path", "cell"),
    [
        ("label_studio_ratings.json", (1, "annotations", 0, "result", 1, "from_name"), ["x"]),
        ("mt_bench_judge_pairs.jsonl", (1, "g1_winner"), ["x"]),
        ("prodigy_choices.jsonl", (1, "options", 0), "x"),
    ],
)
def test_a_list_or_a_text_where_another_kind_belongs_is_no_traceback(
    command, tmp_path: Path, name: str, path: tuple[str | int, ...], cell: object
):
    """Guards against a traceback where one row of a release differs in kind from the documented form."""
    text = (SAMPLES / name).read_text()
    rows = json.loads(text) if name.endswith(".json") else [json.loads(line) for line in text.splitlines()]
    inside: Any = rows
    for step in path[:-1]:
        inside = inside[step]
    inside[path[-1]] = cell
    (tmp_path / name).write_text(json.dumps(rows))
    done = command(tmp_path / name)
    assert done.exit_code == 0 or "error: " in done.stderr


def test_a_criterion_with_one_text_among_its_ratings_is_refused(command, tmp_path: Path):
    """It is a slip of the pen, and no reason to drop the criterion."""
    reply = {"response": "r", "model": "m", "Overall": [1, "two or so"], "Natural": [1, 2]}
    path = tmp_path / "usr.json"
    path.write_text(json.dumps([{"fact": "f", "context": "c", "responses": [reply]}]))
    done = command(path)
    assert done.exit_code == 1
    assert "'two or so'" in done.output


def test_an_unknown_field_that_is_left_out_is_a_remark(command, tmp_path: Path):
    answers = {"honesty": {"Rating": "4"}}
    row = {"instruction": "i", "completions": [{"model": "m", "annotations": answers}], "a_new_field": 1}
    path = tmp_path / "some.jsonl"
    path.write_text(json.dumps(row))
    assert "are left out: a_new_field" in command(path).stdout


def test_a_question_for_a_text_is_no_criterion(command, tmp_path: Path):
    """Projects of Argilla and Label Studio ask for ratings and comments alike."""
    record = json.loads((SAMPLES / "argilla_records.json").read_text())[0]
    given = {"quality": 4, "comment": "nice answer"}
    answers = {name: [{"value": value, "user_id": "u"}] for name, value in given.items()}
    path = tmp_path / "records.json"
    path.write_text(json.dumps([{**record, "responses": answers}]))
    done = command("--from", "argilla", path)
    assert done.exit_code == 0, done.stderr
    assert read_tables(command.out).ratings[["criterion", "value"]].values.tolist() == [["quality", 4]]
    assert "without a rating become columns: comment" in done.stdout


def test_dialogues_of_convai2_that_name_no_bot(command, tmp_path: Path):
    """As on the Hugging Face Hub, where -1 is no answer; the error says what to do."""
    rows = [{"dialog_id": f"d{n}", "dialog": [], "bot_profile": [["a"]], "user_profile": [["b"]]} for n in range(2)]
    scored = [{**row, "eval_score": score, "profile_match": 1} for row, score in zip(rows, (4, -1), strict=True)]
    said = [{"id": 0, "sender_class": "Human", "text": "Hi"}, {"id": 1, "sender_class": "Bot", "text": "Yes."}]
    scored[0]["dialog"] = [said[0], {**said[1], "evaluation_score": 2}]
    (tmp_path / "hub.json").write_text(json.dumps(scored))
    assert "--set model=NAME treats all of them as one" in command(tmp_path / "hub.json").stderr
    done = command(tmp_path / "hub.json", "--set", "model=bots")
    assert (done.exit_code, "are left out: dialog.*.evaluation_score." in done.stdout) == (0, True)
    got = read_tables(command.out).ratings
    (talk,) = entries(read_tables(command.out))[0].talks.values()
    assert [(line["who"], line["text"]) for line in talk["lines"]] == [("human", "Hi"), ("bots", "Yes.")]
    assert got[["criterion", "value"]].values.tolist() == [
        ["eval_score", 4],
        ["profile_match", 1],
        ["profile_match", 1],
    ]


@pytest.mark.parametrize("added", [False, True])
@pytest.mark.parametrize(
    "name",
    [
        *("mturk_batch.csv", "prodigy_choices.jsonl", "argilla_records.json", "heron/samples_chat_2025-01-01.jsonl"),
        *("mt_bench_judge_pairs.jsonl", "mt_bench_judge_scores.jsonl", "arena_hard.jsonl", "pandalm_testset.json"),
        *("convai2_volunteers.json", "see2019_logs.jsonl", "model_chat_results.csv", "per_turn_results.csv"),
    ],
)
def test_only_unknown_fields_are_a_remark(command, tmp_path: Path, name: str, added: bool):
    """Of forms that let no further field pass: what their authors document is known."""
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    whole = [{**row, **({"a_new_field": "x"} if added else {})} for row in rows_of(name)]
    if path.suffix == ".csv":
        with path.open("w", newline="") as file:
            written = csv.DictWriter(file, list(whole[0]))
            written.writeheader()
            written.writerows(whole)
    else:
        path.write_text("\n".join(map(json.dumps, whole)))
    done = command(path)
    assert done.exit_code == 0, done.output
    assert unknown_fields(done.stdout) == ["a_new_field"] * added


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["hh_pairs.jsonl"], "not which models gave the two"),
        (["--from", "arena", "fed_sheet.json"], "it is not a file from arena"),
        (["--from", "usr", "arena_votes.jsonl"], "it is not a file from usr"),
        (["potato"], "also name the file of items"),
        (["--from", "potato", "potato_items.jsonl"], "none of the files holds answers of potato"),
        (["--from", "fed", "nowhere.json"], "there is no such file"),
        (["--from", "arena", "arena_votes.jsonl", "--table", "comparisons"], "--table goes with --from tables"),
    ],
)
def test_what_cannot_be_imported_says_why(command, arguments: list[str], said: str):
    given = [str(SAMPLES / one) if "." in one or one == "potato" else one for one in arguments]
    if arguments[:2] == ["--from", "potato"]:
        given[1] = "potato"
    done = command(*given)
    assert (done.exit_code, said in done.stderr) == (1, True), done.stderr
    assert not command.out.exists() or not list(command.out.iterdir())


def test_plain_tables_stay_plain(command, tmp_path: Path):
    """A table with one of our names, or with --table, is no release, whatever its columns are."""
    columns = "question_id,model_a,model_b,winner,judge,tstamp\n1,x,y,model_a,j,2\n"
    (tmp_path / "comparisons.csv").write_text(columns.replace("question_id", "item_id").replace("judge", "worker_id"))
    (tmp_path / "votes.csv").write_text(columns)
    assert "Read as" not in command(tmp_path / "comparisons.csv").stderr
    assert "Read as" not in command(tmp_path / "votes.csv", "--table", "comparisons", "--force").stderr
    assert "Read as --from arena" in command(tmp_path / "votes.csv", "--force").stderr


def test_a_table_of_ours_with_conversations_is_no_release(command, tmp_path: Path):
    """Guards raters, reasons and answers given twice of who keeps both conversations next to our own columns."""
    vote = {"item_id": "i", "worker_id": "w", "model_a": "x", "model_b": "y", "winner": "x", "reason": "funnier"}
    rows = [{**vote, "item_id": f"i{number}", "conversation_a": [], "conversation_b": []} for number in range(3)]
    (tmp_path / "votes.jsonl").write_text("\n".join(map(json.dumps, rows)))
    done = command(tmp_path / "votes.jsonl", "--set", "metric=preference")
    assert done.exit_code == 0, done.stderr
    read = read_tables(command.out).comparisons
    assert (read["worker_id"].nunique(), read["reason"].tolist()) == (1, ["funnier"] * 3)


def test_every_release_has_a_name_in_the_command_a_row_in_the_page_and_a_sample_here():
    """The command knows the names without reading the declarations, which takes time."""
    page = (PAGES / "import_releases.md").read_text(encoding="utf-8")
    assert [name for name in (*RELEASES, "dstc") if f"`{name}`" not in page] == []
    assert set(releases()) == {*RELEASES, *SAVED}
    assert set(ALIASES.values()) <= set(releases())
    assert {release for release, *_ in (*VOTES.values(), *RATINGS.values())} == set(releases())
    assert {form.table for one in releases().values() for form in one.forms} <= set(get_args(TableName))


ALPACA = [
    {
        "instruction": "Translate",
        "input": text,
        "output_1": "a",
        "output_2": "b",
        "generator_1": "x",
        "generator_2": "w",
        "preference": 2.0,
    }
    for text in ("one", "two")
]


def test_models_of_a_release_that_shuffled_them_have_no_place(command, tmp_path: Path) -> None:
    """Guards against “the one shown first is chosen more often” where nobody knows which one was; and an instruction with
    two inputs is two tasks."""
    (tmp_path / "annotations.json").write_text(json.dumps(ALPACA))
    done = command("--from", "alpaca_eval", tmp_path / "annotations.json", "--yes")
    assert done.exit_code == 0, done.stderr
    got = read_tables(command.out).comparisons
    assert set(got["winner"]) == {"w"}
    assert got["item_id"].nunique() == 2
    assert got["side"].isna().all()
    assert "it is not known who gave each rating" in done.output


def test_further_fields_of_two_models_may_differ_in_kind(command, tmp_path: Path) -> None:
    votes = [
        {"question_id": n, "model_a": "z", "model_b": "y", "winner": "model_a", "judge": "j", "tstamp": 1.0, "anony": True,
         "tokens_a": 10, "tokens_b": "n/a"}
        for n in range(3)
    ]  # fmt: skip
    (tmp_path / "votes.jsonl").write_text("".join(json.dumps(one) + "\n" for one in votes))
    done = command("--from", "arena", tmp_path / "votes.jsonl", "--yes")
    assert done.exit_code == 0, done.stderr
    assert set(read_tables(command.out).comparisons["winner"]) == {"z"}


@pytest.mark.parametrize(
    ("annotators", "words"),
    [
        (["alpaca_eval_gpt4", "alpaca_eval_gpt4"], "(Automatic evaluation by 1 program;"),
        (["alpaca_eval_gpt4", "12"], "(Partly automatic evaluation by 2 raters (1 program, 1 unknown);"),
        (["11", "12"], "(Human evaluation, 2 raters;"),
    ],
)
def test_raters_that_are_programs_are_no_human_evaluation(command, tmp_path: Path, annotators: list[str], words: str):
    """Guards a paper: AlpacaEval's annotations by GPT-4 were called a human evaluation by one rater."""
    rows = json.loads((SAMPLES / "alpaca_annotations.json").read_text(encoding="utf-8"))
    for number, row in enumerate(rows):
        row["annotator"] = annotators[number % 2]
    (tmp_path / "annotations.json").write_text(json.dumps(rows), encoding="utf-8")
    assert command(tmp_path / "annotations.json").exit_code == 0
    document = build_report(read_tables(command.out), Options(draws=100))
    readme = (command.out / "README.md").read_text(encoding="utf-8").splitlines()[0]
    assert words in document.sentence()
    assert ("human" in readme) == ("Human" in words)


ASKED = [["2+2?", " 3"], ["2+2?", " 4"]]
GENERATED = {"resps": [["Four. #### 4"]], "filtered_resps": ["4"]}
CHOSEN = {"resps": [[["-2.5", "False"]], [["-0.5", "True"]]], "filtered_resps": [["-2.5", "False"], ["-0.5", "True"]]}


@pytest.mark.parametrize(
    ("arguments", "answered", "said"),
    [
        ({"gen_args_0": {"arg_0": "2+2?", "arg_1": {"until": []}}}, GENERATED, "Four. #### 4"),
        ([["2+2?", {"until": []}]], GENERATED, "Four. #### 4"),
        ({}, GENERATED, "Four. #### 4"),
        (ASKED, CHOSEN, "4"),
        (
            {f"gen_args_{n}": dict(zip(("arg_0", "arg_1"), one, strict=True)) for n, one in enumerate(ASKED)},
            CHOSEN,
            "4",
        ),
        ([["2+2?", {}]], {"resps": [["[1, 2]"]], "filtered_resps": ["[1, 2]"]}, "[1, 2]"),
    ],
)
def test_samples_of_the_harness_are_dialogues(command, tmp_path: Path, arguments: Any, answered: Any, said: str):
    """The request and what the model said, or the choice that it found likeliest, next to the metric and the target."""
    row = {"doc_id": 0, "doc": {"question": "2+2?"}, "target": "4!", "filter": "none", "metrics": ["acc"], "acc": 1.0}
    (tmp_path / "heron").mkdir()
    path = tmp_path / "heron" / "samples_sums_2025.jsonl"
    path.write_text(json.dumps({**row, "arguments": arguments, **answered}) + "\n")
    done = command(path)
    assert done.exit_code == 0, done.stderr
    assert not unknown_fields(done.stdout)
    (entry,) = entries(read_tables(command.out))
    (talk,) = entry.talks.values()
    assert [(line["who"], line["text"].strip()) for line in talk["lines"]] == [("human", "2+2?"), ("heron", said)]
    (answer,) = entry.details()["answers"]
    assert {("heron: acc", "1"), ("target", "4!")} <= {*answer["says"]}


def test_the_fields_that_were_taken_are_named_and_reasons_are_read(command, tmp_path: Path) -> None:
    """Guards what a person checks before anything is written: no field that the file lacks, none twice, and no marks of the
    list of formats; and the reasons, without which the report has no words to tell models apart."""
    talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]
    votes = [
        {"question_id": f"q{n}", "model_a": "x", "model_b": "y", "winner": "model_a", "evaluation_session_id": "s1",
         "conversation_a": talk, "conversation_b": talk, "reason": reason}
        for n, reason in enumerate(["It is short.", ""])
    ]  # fmt: skip
    (tmp_path / "votes.json").write_text(json.dumps(votes), encoding="utf-8")
    done = command(tmp_path / "votes.json", "--json")
    understood = json.loads(done.stdout)["understood"][0]
    named = {name: understood["columns"][name] for name in ("item_id", "worker_id", "reason")}
    assert named == {"item_id": "question_id", "worker_id": "evaluation_session_id", "reason": "reason"}
    assert "rounds" not in understood["columns"]
    assert "arena_reason" not in read_tables(command.out).comparisons
    assert read_tables(command.out).comparisons["reason"].tolist()[0] == "It is short."


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("{question_id}:{turn}:{model_a~model_b}", "{question_id}:{turn}:{model_a | model_b}"),
        ("{#instruction+input}:{~model_a~~model_b}", "{instruction+input}:{model_a | model_b}"),
        ({"agree": ["g1_winner", "g2_winner"], "but": []}, "g1_winner, g2_winner"),
        (["worker", "@row"], "worker or the number of each row"),
    ],
)
def test_a_field_is_named_in_words(field: Any, words: str) -> None:
    assert _origin(field) == words


def test_addresses_in_a_log_of_the_arenas_server_are_pseudonyms(command) -> None:
    """Guards raters who are known by their address alone."""
    done = command(*paths_of("fastchat_server_log.jsonl"))
    assert "only the first message of each chat and its two replies are kept" in done.stdout
    votes = read_tables(command.out).comparisons
    assert not {name for name in votes if votes[name].astype(str).str.contains("203.0.113", regex=False).any()}
    assert votes["both_bad"].fillna(0).sum() == 1
    assert votes[["prompt", "response_a"]].iloc[0].tolist() == ["How do I boil an egg?", "koala says 0."]
