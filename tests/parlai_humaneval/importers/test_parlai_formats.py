"""What ParlAI's crowd tasks saved → rows: every answer arrives, in the right column, and nothing is made up."""

from __future__ import annotations

import copy
import gzip
import json
import re
from collections.abc import Callable
from typing import Any

import parlai_saves
import pytest
from parlai_samples import SAMPLES, sample

from parlai_humaneval.importers import chats
from parlai_humaneval.importers.readers import READERS, Imported, gather
from parlai_humaneval.importers.units import ImportPlan, LeftOut, Unit, UnreadableUnit, metric_of, units_of_file
from parlai_humaneval.tables.columns import TableError

PLAN = ImportPlan(pseudonym=lambda name: f"w-{name.lower()}")


def unit(name: str) -> Unit:
    (found,) = units_of_file(SAMPLES / name)
    assert isinstance(found, Unit)
    return found


def read(name: str, kind: str, plan: ImportPlan = PLAN, **options: Any) -> Imported:
    return gather([(kind, unit(name))], plan, **options)


def changed(name: str, change: Callable[[Any], None]) -> Unit:
    """A sample's unit, spoiled."""
    whole = unit(name)
    data = copy.deepcopy(whole.data)
    change(data)
    return Unit(where="chat.json", data=data, worker=whole.worker, messages=whole.messages)


def test_ticks_ratings_and_times_of_a_chat_with_one_model():
    """Ticks as ticked, the explicit none as none_said, “|4|2” as two ratings, seconds from reply to ticks."""
    tables = read(
        "model_chat_state.json", "model_chat", ImportPlan(PLAN.pseudonym, criteria=("preference", "humanness"))
    ).tables
    turns = tables.turns
    assert turns["text"].tolist() == [
        "Hello, what are you up to?",
        "The small one behind the mill.",
        "Cold enough to shout.",
    ]
    assert turns["human_text"].tolist() == ["Hi!", "Do you know a good lake to swim in?", "How cold is it?"]
    assert turns["human_fixed"].tolist() == [1, 0, 0]
    assert turns["ticks"].tolist() == ["engaging", "engaging;human-like", None]
    assert set(turns["tick_choices"]) == {"engaging;human-like"}
    assert turns["none_said"].tolist() == [0, 0, 1]
    assert (turns["turn"].tolist(), set(turns["model"]), set(turns["worker_id"])) == (
        [1, 2, 3],
        {"tulip"},
        {"w-a1parlaiworker"},
    )
    assert turns["seconds"].tolist() == [9, 9, 9]
    assert dict(zip(tables.ratings["criterion"], tables.ratings["value"], strict=True)) == {
        "preference": 4,
        "humanness": 2,
    }
    dialogue = tables.dialogues.iloc[0]
    assert (dialogue["n_turns"], dialogue["complete"], dialogue["technique"]) == (3, 1, "single_model")
    assert dialogue["started"].startswith("2024-05-01T09:")


def test_a_saved_chat_alone_has_no_times_and_is_the_same_dialogue():
    """The file of chat_data_folder and the state.json of the same chat get one id, so that it cannot count twice."""
    alone, whole = (read(name, "model_chat").tables for name in ("model_chat.json", "model_chat_state.json"))
    assert alone.turns["seconds"].isna().all()
    assert alone.dialogues["started"].isna().all()
    assert alone.dialogues["dialogue_id"].tolist() == whole.dialogues["dialogue_id"].tolist()
    both = [("model_chat", unit(name)) for name in ("model_chat.json", "model_chat_state.json")]
    with pytest.raises(TableError, match=r"model_chat_state.json holds the same answers as .*model_chat.json"):
        gather(both, PLAN)


@pytest.mark.parametrize(
    ("given", "expected"),
    [("3", [3.0]), (3, [3.0]), ("|3", [3.0]), ("1|5", [1.0, 5.0]), ("|1|5|2", [1.0, 5.0, 2.0])],
)
def test_final_ratings_in_every_form_of_the_page(given: Any, expected: list[float]):
    """One number, or several with | between; the page of ParlAI 1.7.2 begins with one too many."""

    def change(data: Any) -> None:
        data["dialog"][-1]["final_rating"] = given

    rows = chats.model_chat_rows(changed("model_chat_state.json", change), PLAN).tables["ratings"]
    assert [row["value"] for row in rows] == expected
    assert len({row["criterion"] for row in rows}) == len(expected)


def test_ratings_are_named_by_the_questions_of_the_papers():
    """Where the wording is known from the launch, nobody has to name the criteria."""
    questions = (
        "Please rate how human your partner sounds. (1: Very inhuman, 5: Very human)",
        "How was the weather?",
    )
    found = unit("model_chat_state.json")
    rows = chats.model_chat_rows(Unit(found.where, found.data, final_questions=questions), PLAN).tables["ratings"]
    assert [(row["criterion"], row["statement"]) for row in rows] == [
        ("humanness", questions[0]),
        ("final_rating_2", questions[1]),
    ]


def test_a_chat_that_was_not_rated_is_not_complete():
    """It stays, marked as what it is."""
    rows = chats.model_chat_rows(changed("model_chat.json", lambda d: d["dialog"][-1].pop("final_rating")), PLAN)
    assert "ratings" not in rows.tables
    assert rows.tables["dialogues"][0]["complete"] == 0
    assert {row["dialogue_status"] for row in rows.tables["turns"]} == {"partial"}


def test_a_reply_without_ticks_was_not_asked_about():
    """An absent problem_data is no “nothing ticked”."""
    rows = chats.model_chat_rows(changed("model_chat.json", lambda d: d["dialog"][1].pop("problem_data")), PLAN)
    first, second, _ = rows.tables["turns"]
    assert "tick_choices" not in first
    assert second["tick_choices"] == "engaging;human-like"


def test_buckets_are_problems_unless_they_are_known_to_be_good():
    """ParlAI's own buckets, whose other one is “None, all good”, speak against a reply; those of Smith et al. for it."""

    def change(data: Any) -> None:
        for line in data["dialog"]:
            ticks = line.get("problem_data")
            if ticks:
                ticks |= {"bucket_0": False, "nonsensical": True, "unheard of": False}

    rows = chats.model_chat_rows(changed("model_chat.json", change), PLAN).tables["turns"]
    assert {row["tick_problems"] for row in rows} == {"bucket_0;nonsensical;unheard of"}
    as_saved = chats.model_chat_rows(unit("model_chat.json"), PLAN).tables["turns"]
    assert {row["tick_problems"] for row in as_saved} == {""}


def test_lines_that_were_given_to_both_are_no_turn():
    """In BlendedSkillTalk's mode the first line of the bot is not the model's."""

    def change(data: Any) -> None:
        data["dialog"][1] = {"agent_idx": 1, "text": "given", "id": "b", "fake_start": True}

    rows = chats.model_chat_rows(changed("model_chat.json", change), PLAN).tables
    assert [(row["turn"], row["text"]) for row in rows["turns"]] == [
        (1, "The small one behind the mill."),
        (2, "Cold enough to shout."),
    ]
    assert rows["dialogues"][0]["n_turns"] == 2


def test_choices_positions_and_reasons_of_two_models_at_every_turn():
    """The chosen reply, where it stood, why, and how long it took; the same as a comparison."""
    tables = read("per_turn_state.json", "pairwise_per_turn_eval").tables
    state = sample("per_turn_state.json")
    shown = [m["task_data"] for m in state["outputs"]["messages"] if "top_bot_data" in m.get("task_data", {})]
    tops = [data["top_bot_data"]["top_bot_id"] for data in shown]
    chosen = tables.turns[(tables.turns["selected"] == 1).to_numpy(dtype=bool)]
    assert chosen["reason"].tolist() == ["short and calm", "it asks me something", "=funny"]
    assert chosen["position"].tolist() == [1, 2, 2]
    at_top = tables.turns[(tables.turns["position"] == 1).to_numpy(dtype=bool)]
    assert at_top["model"].tolist() == tops
    assert (tables.turns["selected"] == tables.turns["continued"]).all()
    assert set(tables.turns["seconds"]) == {9}
    assert tables.comparisons["winner"].tolist() == chosen["model"].tolist()
    assert set(tables.comparisons["metric"]) == {"preference"}
    assert (tables.comparisons["model_a"] == "daisy").all()
    of_daisy = tables.turns[(tables.turns["model"] == "daisy").to_numpy(dtype=bool)]
    assert tables.comparisons["position_a"].tolist() == of_daisy["position"].tolist()
    assert tables.dialogues["models"].tolist() == ["tulip;daisy"]


def test_without_messages_no_position_is_made_up():
    """The saved chat of pairwise_per_turn_eval does not say what stood on top: 0, and empty in comparisons."""
    found = unit("per_turn_state.json")
    tables = gather([("pairwise_per_turn_eval", Unit(found.where, found.data))], PLAN).tables
    assert set(tables.turns["position"]) == {0}
    assert tables.turns["seconds"].isna().all()
    assert tables.comparisons["position_a"].isna().all()


def test_pairs_of_finished_dialogues():
    """Winner, reason and side of each pair; the onboarding is an attention check and no result."""
    imported = read("acute_unit.json", "acute_eval")
    comparisons, judgements = imported.tables.comparisons, imported.tables.judgements
    assert comparisons["winner"].tolist() == ["tulip", "daisy"]
    assert comparisons["reason"].tolist() == ["I like tulip", "I like daisy"]
    assert (comparisons["model_a"].tolist(), comparisons["model_b"].tolist()) == (["daisy"] * 2, ["tulip"] * 2)
    left = [pair["task_specs"]["model_left"]["name"] for pair in sample("acute_unit.json")["data"][1:]]
    assert comparisons["side"].tolist() == [1 if name == "daisy" else 2 for name in left]
    assert comparisons["metric"].tolist() == ["preference"] * 2
    assert (judgements["gold"].tolist(), judgements["gold_passed"].tolist()[0]) == ([1, 0, 0], 1)
    assert imported.left_out == {chats.ONBOARDING: 1}
    assert judgements["seconds"].isna().all()
    shown = [json.loads(text) for text in judgements["shown"]]
    options = [json.loads(text)[0]["option"] for text in judgements["answers"]]
    for pair, option, winner in zip(shown[1:], options[1:], comparisons["winner"], strict=True):
        chosen = pair[0 if option == "first" else 1]
        assert chosen["entities"][chosen["judged"]] == winner
        assert all(line["text"] and line["speaker"] in (0, 1) for line in chosen["lines"])
    assert [[one["dialogue_id"] for one in pair] for pair in shown] == [
        text.split(";") for text in judgements["dialogues"]
    ]
    again = gather([("acute_eval", Unit("x", sample("acute_unit.json")["data"], worker="B"))], PLAN).tables.comparisons
    assert again["item_id"].tolist() == comparisons["item_id"].tolist()
    assert set(again["dialogue_a"]) == set(comparisons["dialogue_a"])


@pytest.mark.parametrize("keep", [False, True])
def test_who_fails_the_onboarding_is_left_out_as_by_parlai(keep: bool):
    """All their pairs, also those of other units; with the option they stay."""
    data = sample("acute_unit.json")["data"]
    wrong = [{**data[0], "speakerChoice": "dull"}, data[1]]
    units = [Unit("one", wrong, worker="A"), Unit("two", [data[2]], worker="A"), Unit("three", [data[2]], worker="B")]
    imported = gather([("acute_eval", one) for one in units], ImportPlan(PLAN.pseudonym, keep_failed=keep))
    workers = imported.tables.comparisons["worker_id"].tolist()
    assert workers == (["w-a", "w-a", "w-b"] if keep else ["w-b"])
    assert imported.left_out.get(chats.FAILED) == (None if keep else 2)


def _set(path: str, value: Any) -> Callable[[Any], None]:
    def change(data: Any) -> None:
        *parents, last = path.split(".")
        for name in parents:
            data = data[int(name)] if isinstance(data, list) else data[name]
        if value is ...:
            del data[int(last) if isinstance(data, list) else last]
        else:
            data[int(last) if isinstance(data, list) else last] = value

    return change


@pytest.mark.parametrize(
    ("kind", "change", "words"),
    [
        ("model_chat", _set("dialog", ...), "chat.json: dialog is missing"),
        ("model_chat", _set("dialog", {}), "dialog is {}, expected a list"),
        ("model_chat", _set("dialog", []), "dialog has no reply"),
        ("model_chat", _set("dialog.2.agent_idx", 1), r"dialog\[2\]: agent_idx is 1, expected 0"),
        ("model_chat", _set("dialog.2.agent_idx", True), r"agent_idx is True, expected a whole number"),
        ("model_chat", _set("dialog.3.text", 5), r"dialog\[3\]: text is 5, expected a text"),
        ("model_chat", _set("dialog.3.problem_data", [1]), r"problem_data is \[1\], expected an object"),
        ("model_chat", _set("dialog.3.problem_data.engaging", "yes"), "engaging is 'yes', expected true or false"),
        ("model_chat", _set("dialog.5.final_rating", "9"), "final_rating is '9', expected 1 to 5"),
        ("model_chat", _set("dialog.5.final_rating", "good"), "final_rating is 'good'"),
        ("model_chat", _set("dialog.5.final_rating", True), "final_rating is True"),
        (
            "model_chat",
            _set("task_description.model_nickname", ...),
            r"model_nickname is missing \(it has: annotations",
        ),
        ("model_chat", _set("workers", []), "workers is missing"),
        ("model_chat", _set("workers", ["A", "B"]), "names 2 workers"),
        ("pairwise_per_turn_eval", _set("dialog.1.human_choice", "rose"), r"human_choice is 'rose', but accepted"),
        ("pairwise_per_turn_eval", _set("dialog.1.human_choice", ...), "human_choice is missing"),
        ("pairwise_per_turn_eval", _set("dialog.3.accepted_bot_data.id", "rose"), r"accepted_bot_data: id is 'rose'"),
        ("pairwise_per_turn_eval", _set("dialog.3.not_accepted_bot_data", ...), "not_accepted_bot_data is missing"),
        ("pairwise_per_turn_eval", _set("task_description.model_2_nickname", "tulip"), "both models are named 'tulip'"),
        ("acute_eval", _set("1.speakerChoice", "rose"), "pair 2: speakerChoice is 'rose', expected 'tulip' or 'daisy'"),
        ("acute_eval", _set("1.pairing_dict.speakers_to_eval", ["a"]), "expected two different names"),
        ("acute_eval", _set("1.pairing_dict.dialogue_dicts", []), "holds 0, expected two dialogues"),
        (
            "acute_eval",
            _set("1.pairing_dict.dialogue_dicts.0.dialogue.1.id", "rose"),
            "'tulip', who is judged, says nothing",
        ),
        ("acute_eval", _set("1.pairing_dict.dialogue_dicts.0.dialogue.1.text", ...), r"dialogue\[1\]: text is missing"),
        ("acute_eval", _set("0.pairing_dict.correct_answer", ...), "correct_answer is missing"),
        ("acute_eval", _set("2.task_specs", ...), "pair 3: task_specs is missing"),
    ],
)
def test_a_wrong_field_is_named_with_its_place(kind: str, change: Callable[[Any], None], words: str):
    """File, place, field, and what was expected; never a KeyError."""
    names = {"model_chat": "model_chat.json", "pairwise_per_turn_eval": "per_turn_state.json"}
    spoiled = changed(names.get(kind, "acute_unit.json"), change)
    with pytest.raises(UnreadableUnit, match=words) as error:
        READERS[kind](spoiled, PLAN)
    assert str(error.value).startswith("chat.json")


def test_pairs_of_nobody_are_refused():
    """agent_data.json does not name its worker, without whom no interval is right."""
    with pytest.raises(UnreadableUnit, match=r"does not show who judged.*--from mephisto"):
        chats.acute_rows(unit("acute_agent_data.json"), PLAN)


def test_a_pair_without_an_answer_is_counted():
    """ParlAI's own analysis drops it with a line on the screen."""
    data = sample("acute_unit.json")["data"]
    data[1]["speakerChoice"] = ""
    assert chats.acute_rows(Unit("x", data, worker="A"), PLAN).left_out[chats.NO_ANSWER] == 1


@pytest.mark.parametrize(
    ("kind", "name", "words"),
    [
        (
            "model_chat",
            "per_turn_state.json",
            "saved by ParlAI's pairwise_per_turn_eval.*--from pairwise_per_turn_eval",
        ),
        ("pairwise_per_turn_eval", "model_chat.json", "saved by ParlAI's model_chat"),
        ("model_chat", "acute_unit.json", "saved by ParlAI's acute_eval"),
    ],
)
def test_the_wrong_format_is_recognised(kind: str, name: str, words: str):
    """The message says which one to name."""
    with pytest.raises(UnreadableUnit, match=words):
        read(name, kind)


def test_every_container_gives_the_same_rows(tmp_path):
    """The chat alone, as world data, as state.json of old and new versions, from DataBrowser, in a list, one a line."""
    chat, state = sample("model_chat.json"), sample("model_chat_state.json")
    old = {"inputs": {}, "outputs": {"messages": [{"data": {}, "timestamp": None, "final_chat_data": chat}]}}
    browser = {
        "worker_id": "1",
        "unit_id": "2",
        "assignment_id": "3",
        "status": "approved",
        "task_start": 0,
        "task_end": 9,
    }
    forms = [chat, {"custom_data": chat, "worker_data": {}}, state, old]
    forms += [{**browser, "data": {"save_data": {"custom_data": chat}, "messages": state["outputs"]["messages"]}}]
    found = []
    for number, form in enumerate([*forms, [chat]]):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(form), encoding="utf-8")
        found += units_of_file(path)
    lines = tmp_path / "lines.jsonl"
    lines.write_text("\n".join(map(json.dumps, (chat, state))), encoding="utf-8")
    found += units_of_file(lines)
    assert len(found) == 8
    rows = [chats.model_chat_rows(one, PLAN).tables["turns"] for one in found]
    assert all([row["ticks"] for row in one] == ["engaging", "engaging;human-like", ""] for one in rows)
    assert len({row["dialogue_id"] for one in rows for row in one}) == 1


@pytest.mark.parametrize(
    "form",
    [
        {"outputs": {"messages": []}, "inputs": {}},
        {"outputs": {"messages": [{"WORLD_DATA": {"custom_data": None}}]}, "inputs": {}},
        {"outputs": None, "inputs": None},
        {"worker_id": "1", "status": "disconnect", "data": {}},
        {"worker_id": "1", "status": "completed", "data": {"save_data": None, "messages": []}},
    ],
)
def test_unfinished_work_is_left_out_and_no_error(tmp_path, form: Any):
    """A worker who left saved nothing; ParlAI's own analysis skips it too."""
    path = tmp_path / "state.json"
    path.write_text(json.dumps(form), encoding="utf-8")
    (found,) = units_of_file(path)
    assert isinstance(found, LeftOut)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{broken", "is not JSON"),
        ('{"a": 1}\n{broken', "line 2 is not JSON"),
        ("[3]", "entry 1: 3, expected an object"),
        ("[" * 100_000, "is not JSON: maximum recursion depth"),
        ('{"outputs": {"x": 1}, "inputs": {}}', "outputs has neither messages .* nor final_data"),
        ('{"outputs": {"final_data": [1]}, "inputs": []}', "not two lists of the same length"),
    ],
)
def test_files_that_are_something_else(tmp_path, text: str, words: str):
    """Named with the line; what stands beside it can still be read."""
    path = tmp_path / "state.json"
    path.write_text(text, encoding="utf-8")
    errors = [one for one in units_of_file(path) if isinstance(one, UnreadableUnit)]
    assert len(errors) == 1
    assert re.search(words, str(errors[0]))
    assert str(path) in str(errors[0])


@pytest.mark.parametrize("letter", ["\u2028", "\u0085"])
def test_lines_end_where_those_of_json_do(tmp_path, letter: str):
    """A text may hold another end of a line that Unicode has; and a file may be packed."""
    state = sample("per_turn_state.json")
    lines = [json.dumps({**state, "note": f"a{letter}b"}, ensure_ascii=False), json.dumps(state)]
    path = tmp_path / "states.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    assert [type(one) for one in units_of_file(path)] == [Unit, Unit]


def test_metrics_are_named_by_what_was_asked():
    """The papers' wordings by name, whatever their punctuation; another question by itself; none is said to be none."""
    assert metric_of("Which speaker sounds more human") == "humanness"
    assert metric_of("Which next response from your partner would be more interesting?") == "interestingness"
    assert metric_of(" Who is  kinder? ") == "Who is kinder?"
    assert metric_of(None) == metric_of("  ") == "unnamed"


def test_thousands_of_chats_are_read():
    """Hot path without a table for each unit."""
    data = sample("per_turn_state.json")
    chat = unit("per_turn_state.json").data
    assert data["outputs"]["messages"]
    units = [("pairwise_per_turn_eval", Unit(f"{n}", {**chat, "hit_ids": [n]}, worker="A")) for n in range(2_000)]
    tables = gather(units, PLAN).tables
    assert len(tables.turns) == 12_000


def test_the_samples_are_what_parlai_saves(tmp_path, warm):
    """ParlAI's own worlds, runner and agent state are run again: the samples beside this file have their form."""
    pytest.importorskip("parlai")
    pytest.importorskip("pytest_regressions", reason="ParlAI's worlds of model_chat import it")
    # In a process of its own: ParlAI's modules are changed to be importable at all.
    done = warm.run(parlai_saves.__file__, str(tmp_path))
    assert done.returncode == 0, done.stderr[-2000:]
    written = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in tmp_path.glob("*.json")}
    assert written == {path.name: sample(path.name) for path in SAMPLES.glob("*.json")}
