"""Chats as other projects keep them become dialogues: who speaks, what is not shown, what belongs together."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parlai_humaneval._util.data_files import DataError
from parlai_humaneval.allocation import Pairing
from parlai_humaneval.allocation.pairing import NotEnough, pair_items, parted_pairs
from parlai_humaneval.dialogues.chats import EMPTY, form_of
from parlai_humaneval.dialogues.dialogue import HUMAN, Dialogue
from parlai_humaneval.dialogues.files import load_dialogues
from parlai_humaneval.dialogues.messages import replies_in, texts_of, told_in
from parlai_humaneval.dialogues.sources import load_sources, taken_as

CASES = Path(__file__).parents[4] / "shared" / "cases"
published = pytest.mark.skipif(not CASES.is_dir(), reason="the published cases are not beside this checkout")
MESSAGES = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "Hi!"},
    {"role": "assistant", "content": [{"type": "text", "text": "Hello."}, {"type": "image"}]},
]
CHAT = {"id": 7, "model": "alpha", "messages": MESSAGES}
PAIR = {
    "speakers_to_eval": ["alpha", "beta"],
    "dialogue_dicts": [
        {"id": f"{name}0", "dialogue": [{"id": "person", "text": "Hi!"}, {"id": name, "text": f"I am {name}."}]}
        for name in ("alpha", "beta")
    ],
}
SELF = {
    **PAIR,
    "dialogue_dicts": [
        {"id": f"{name}0s", "dialogue": [{"id": "other_speaker", "text": "Hi!"}, {"id": name, "text": f"I am {name}."}]}
        for name in ("alpha", "beta")
    ],
}
LOG = {
    "task_description": {"model_nickname": "alpha"},
    "dialog": [
        {"agent_idx": 0, "id": "Speaker 1", "text": "Hi!"},
        {"agent_idx": 1, "id": "Speaker 2", "text": "Hello."},
    ],
}
SHARE = {"id": "s", "conversations": [{"from": "human", "value": "Hi!"}, {"from": "gpt", "value": "Hello."}]}
ASKED = {"question_id": 7, "question": "Hi!", "answer": "Hello.", "model": "alpha"}
SIDES = {
    "question_id": 3,
    "model_a": "alpha",
    "model_b": "beta",
    "conversation_a": MESSAGES,
    "conversation_b": MESSAGES,
}


def read(path: Path, text: str, **how: Any) -> list[Dialogue]:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return load_sources([{"file": str(path), **how}], lambda task: [], list)


@pytest.mark.parametrize(
    ("name", "text", "entities"),
    [
        ("c.jsonl", json.dumps(CHAT), {"user": HUMAN, "assistant": "alpha"}),
        ("c.json", json.dumps([CHAT], indent=1), {"user": HUMAN, "assistant": "alpha"}),
        ("c.json", json.dumps(CHAT, indent=1), {"user": HUMAN, "assistant": "alpha"}),
        ("c.jsonl", json.dumps(MESSAGES), {"user": HUMAN}),
        ("c.jsonl", json.dumps(SHARE), {"human": HUMAN}),
        ("c.jsonl", json.dumps(LOG), {"human": HUMAN, "bot": "alpha"}),
        ("c.jsonl", json.dumps(ASKED), {"user": HUMAN, "assistant": "alpha"}),
        ("c.json", json.dumps([{"prompt": "Hi!", "response": "Hello."}], indent=1), {"user": HUMAN}),
        ("c.txt", "User: Hi!\nAssistant: Hello.\n", {"user": HUMAN}),
        ("c.txt", "\n\nHuman: Hi!\n\nAssistant: Hello.", {"human": HUMAN}),
        ("c.jsonl", json.dumps({"id": 1, "text": "User: Hi!\nBot: Hello."}), {"user": HUMAN}),
        ("c.txt", "User: Hi!\nSystem: Hello.", {"user": HUMAN}),
        ("c.txt", "System: Be kind.\nUser: Hi!\nBot: Hello.\n---\n", {"user": HUMAN}),
    ],
)
def test_a_chat_in_each_form(tmp_path: Path, name: str, text: str, entities: Mapping[str, str]) -> None:
    """The same two lines, without the system message; a model is known where the file names it."""
    (dialogue,) = read(tmp_path / name, text)
    assert (dialogue.texts, dialogue.entities, dialogue.context) == (["Hi!", "Hello."], entities, ())


def test_what_a_file_was_taken_for_is_said(tmp_path: Path) -> None:
    """With who speaks and with turns that are empty; a system message is context where that is asked for."""
    empty = [*MESSAGES, {"role": "user", "content": ""}, {"role": "assistant", "content": "Are you there?"}]
    given = {"entities": {"assistant": "mine"}, "system": True}
    dialogues = read(tmp_path / "c.jsonl", json.dumps({**CHAT, "messages": empty}), **given)
    assert (dialogues[0].dialogue_id, dialogues[0].texts[2], dialogues[0].context) == ("7", "…", ("Be kind.",))
    (remark,) = taken_as(dialogues)
    assert ": 1 dialogue, form=messages (user = human, assistant = mine); turns without text" in remark
    with pytest.raises(DataError, match="Did you mean messages"):
        read(tmp_path / "c.jsonl", json.dumps(CHAT), form="mesages")
    conversation = {
        "dialog": [[{"id": "ada", "text": "Hi!"}, {"id": "bob", "text": "Hello."}]],
        "entities": {"bob": "b"},
    }
    (remark,) = taken_as(read(tmp_path / "d.jsonl", json.dumps(conversation)))
    assert remark.endswith(": 1 dialogue, ParlAI conversations (ada = ?, bob = b)")
    conversation["dialog"] *= 2
    conversation["dialog"][0] = [{"id": "ada", "text": "Hi!"}, {"id": "bob", "text": ""}]
    assert "turns without text" in taken_as(read(tmp_path / "d.jsonl", json.dumps(conversation)))[0]
    blank = json.dumps({"dialogue_id": "d", "turns": ["Hi!", " ", "Still there?", "Yes."]})
    (dialogue,) = read(tmp_path / "d.jsonl", blank)
    assert (dialogue.texts[1], "turns without text" in taken_as([dialogue])[0]) == (EMPTY, True)
    assert "1 dialogue, fbdialog" in taken_as(read(tmp_path / "d.txt", "1 Hi!\tHello.\n"))[0]
    assert taken_as(read(tmp_path / "e.jsonl", '{"dialogue_id": "1", "turns": ["Hi!", "Hello."]}')) == [], (
        "it is our own"
    )


def test_numbers_are_texts_of_messages(tmp_path: Path) -> None:
    """Guards against a traceback, and against an answer of 0 that is taken for no text."""
    said = [{"role": "user", "content": [{"type": "text", "text": 7}]}, {"role": "assistant", "content": 0}]
    assert read(tmp_path / "c.jsonl", json.dumps({**CHAT, "messages": said}))[0].texts == ["7", "0"]


def test_texts_are_separated_by_lines_of_dashes_or_blank_lines(tmp_path: Path) -> None:
    two = read(tmp_path / "c.txt", "User: a\n\nb\nBot: c\n---\nUser: d\nBot: e\n")
    assert [dialogue.texts for dialogue in two] == [["a\n\nb", "c"], ["d", "e"]]
    assert len(read(tmp_path / "d.txt", "User: a\nBot: c\n\nUser: d\nBot: e\n")) == 2


CODE = st.tuples(
    st.sampled_from(["```", "~~~~"]),
    st.lists(
        st.sampled_from(["User: x", "Assistant: y", "", "---", "  Bot: z", "~~", "a = 1"]), min_size=1, max_size=5
    ),
).map(lambda block: "\n".join([block[0], *block[1], block[0]]))
PROSE = st.sampled_from(
    ["Well", "say “User: no”", "Human: so it is", "user: no", "System: off", "`User: x`", "a ```User: b``` c"]
)
MESSAGE = st.lists(CODE | PROSE, min_size=1, max_size=4).map("\n".join)


@given(said=st.lists(st.tuples(MESSAGE, MESSAGE), min_size=1, max_size=3), gap=st.sampled_from(["\n", "\n\n"]))
def test_quoted_labels_cut_no_message(said: list[tuple[str, str]], gap: str) -> None:
    """What is in a block of code, inside a line, or spelled otherwise than the labels of the text is part of the message."""
    lines = [(role, text) for turn in said for role, text in zip(("User", "Assistant"), turn, strict=True)]
    text = gap.join(f"{role}: {words}" for role, words in lines)
    assert texts_of(text) == [text]
    assert [(one["role"], one["content"]) for one in told_in("", text)[1]] == [
        (who.lower(), words) for who, words in lines
    ]


def test_a_text_that_begins_with_no_label_is_no_conversation() -> None:
    assert form_of({"text": "They said:\nUser: a\nBot: b"}) is None


def test_files_of_one_name_keep_their_dialogues_apart(tmp_path: Path) -> None:
    """By as little of their paths as tells them apart."""
    files = [tmp_path / folder / "c.jsonl" for folder in ("x", "y", "x/b", "y/b")]
    for file in files:
        read(file, json.dumps(MESSAGES))
    ids = [one.dialogue_id for one in load_sources(list(map(str, files)), lambda task: [], list)]
    assert ids == ["c-1", "y-c-1", "b-c-1", "y-b-c-1"]


def items(dialogues: list[Dialogue], pairing: Pairing = "auto", wanted: int = 1) -> list[tuple[str, ...]]:
    groups = [("alpha", "beta")]
    how: dict[str, Any] = {"judged": "second", "wanted": wanted, "seed": 1, "pairing": pairing}
    return [item.dialogues for item in pair_items(dialogues, groups, "preference", "", **how)]


def test_pairs_of_a_file_stay_together(tmp_path: Path) -> None:
    """A dialogue may be in several pairs; onboarding is left out; in a self-chat both speakers are the model."""
    onboarding = {**PAIR, "is_onboarding": True}
    crossed = {**PAIR, "dialogue_dicts": [PAIR["dialogue_dicts"][0], {**PAIR["dialogue_dicts"][1], "id": "beta1"}]}
    dialogues = read(tmp_path / "p.jsonl", "\n".join(map(json.dumps, [PAIR, onboarding, crossed, SELF])))
    kinds = {dialogue.dialogue_id: dialogue.kind for dialogue in dialogues}
    with_people = dict.fromkeys(("alpha0", "beta0", "beta1"), "human_bot")
    assert kinds == with_people | dict.fromkeys(("alpha0s", "beta0s"), "self_chat")
    assert items(dialogues) == [("alpha0", "beta0"), ("alpha0", "beta1"), ("alpha0s", "beta0s")]
    assert len(items(dialogues, "any")) == 6
    groups = [("alpha", "beta")]
    assert parted_pairs(dialogues, groups, 3) is None
    assert parted_pairs(dialogues, groups, 4) == (("alpha", "beta"), "given", 3), "the launch says so"
    with pytest.raises(NotEnough, match="ask for 3 or fewer, so the pairs of the file are kept"):
        items(dialogues, wanted=7)
    (tmp_path / "b").mkdir()
    again = read(tmp_path / "b" / "p.jsonl", json.dumps(PAIR | {"speakers_to_eval": ["alpha", "beta"]}))
    again = [replace(one, dialogue_id=f"b-{one.dialogue_id}") for one in again]
    assert len(items([*dialogues, *again])) == 4, "pairs of another file have the same names, and are others"
    arena = read(tmp_path / "a.jsonl", "\n".join(json.dumps({**SIDES, "question_id": n}) for n in (3, 4)))
    assert items(arena) == [("3-a", "3-b"), ("4-a", "4-b")]


def test_speakers_are_named_in_any_case(tmp_path: Path) -> None:
    """As the text spells them, or as the reader does; in the file, too."""
    text = "User: Hi!\nAssistant: Hello."
    for who in ("Assistant", "assistant"):
        assert read(tmp_path / "t.txt", text, entities={who: "tx"})[0].models == ["tx"]
    in_file = {"dialogue_id": "d", "turns": ["Hi!", "Hello."], "speakers": ["Ann", "Bot"], "entities": {"bot": "m"}}
    assert read(tmp_path / "o.jsonl", json.dumps(in_file))[0].entities == {"Bot": "m"}


def test_pictures_and_tool_messages_that_raters_do_not_see_are_counted(tmp_path: Path) -> None:
    """A call without text is one, and no empty turn."""
    asked = {"role": "user", "content": [{"type": "text", "text": "Hi!"}, {"type": "image_url", "image_url": {}}]}
    called = {"role": "assistant", "content": None, "tool_calls": [{"id": "c"}]}
    rest = [{"role": "tool", "content": "42"}, {"role": "assistant", "content": "It is 42."}]
    found = read(tmp_path / "m.jsonl", json.dumps({"messages": [asked, called, *rest]}))
    assert found[0].texts == ["Hi!", "It is 42."]
    assert taken_as(found)[0].endswith("; raters do not see the pictures (1), tool messages (2)")


def test_a_chosen_and_a_rejected_answer_are_a_pair(tmp_path: Path) -> None:
    """As texts, as messages, or behind a prompt; with the models that the file names, or named by the side."""
    texts = {side: f"\n\nHuman: Rain?\n\nAssistant: {side} text" for side in ("chosen", "rejected")}
    said = {side: [MESSAGES[1], {"role": "assistant", "content": side}] for side in ("chosen", "rejected")}
    behind = {"prompt": "Rome?", "chosen": "Yes.", "rejected": "No.", "chosen_model": "m", "rejected_model": "n"}
    found = read(tmp_path / "h.jsonl", "\n".join(map(json.dumps, [texts, said, behind])))
    assert [one.models for one in found] == [["chosen"], ["rejected"], ["chosen"], ["rejected"], ["m"], ["n"]]
    assert [one.texts[1] for one in found] == ["chosen text", "rejected text", "chosen", "rejected", "Yes.", "No."]
    assert [one.kind for one in found] == ["human_bot"] * 6
    pairs = [one.settings["pairs"] for one in found]
    assert pairs[::2] == pairs[1::2]
    assert len({pair for (pair,) in pairs}) == 3
    assert found[0].dialogue_id == "h.jsonl, line 1-chosen", "nothing of the folder"


def answers(model: str, starts: list[str]) -> list[Dialogue]:
    text = "\n".join(
        json.dumps(
            {
                "id": f"{model}{n}",
                "model": model,
                "messages": [{"role": "user", "content": start}, {"role": "bot", "content": "x"}],
            }
        )
        for n, start in enumerate(starts)
    )
    return [json.loads(line) for line in text.splitlines()]


def test_answers_to_the_same_question_are_compared(tmp_path: Path) -> None:
    """By default where all have a partner and there are enough of them; else, as before, all with all."""
    rows = [*answers("alpha", ["Rain?", "Rome?"]), *answers("beta", ["rome?", "Rain?"])]
    same = read(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows)))
    assert items(same) == [("alpha0", "beta1"), ("alpha1", "beta0")]
    assert len(items(same, "any")) == len(items(same, wanted=3)) == 4
    with pytest.raises(NotEnough, match=r"the same beginning in only 2.*judgements_per_group=2 .*pairing=any"):
        items(same, "same_start", wanted=3)
    rows = [*answers("alpha", ["Rain?", "Rome?"]), *answers("beta", ["Rome?", "Tea?"])]
    other = read(tmp_path / "b.jsonl", "\n".join(map(json.dumps, rows)))
    assert parted_pairs(same, [("alpha", "beta")], 3) == (("alpha", "beta"), "same_start", 2)
    assert (len(items(other)), items(other, "same_start")) == (4, [("alpha1", "beta0")])


def test_questions_with_their_answers_are_dialogues_that_pair_by_the_question(tmp_path: Path) -> None:
    """With the id of their line, or its number; the launch says what it took them for."""
    found = []
    for model in ("alpha", "beta"):
        rows = [{"prompt": start, "response": f"{model}: {start}", "model": model} for start in ("Rain?", "Rome?")]
        found += read(tmp_path / f"{model}.jsonl", "\n".join(map(json.dumps, [*rows, {**ASKED, "model": model}])))
    assert items(found[:2] + found[3:5]) == [("alpha-1", "beta-1"), ("alpha-2", "beta-2")]
    assert (found[2].dialogue_id, found[5].dialogue_id) == ("7", "7")
    assert "form=exchange (user = human, assistant = alpha)" in taken_as(found)[0]
    with pytest.raises(DataError, match="not in form=exchange"):
        read(tmp_path / "c.jsonl", json.dumps({"question": "Hi!"}), form="exchange")


ANSWERS = [
    {"id": str(n), "model": model, "prompt": "What, then?", "response": "A\nB"} for n in (0, 1) for model in "xy"
]
TWO: dict[str, Any] = {"model_a": "x", "model_b": "y", "prompt": "What?", "response_a": "Rain.", "response_b": "Sun."}
OUTPUTS = [{"instruction": "What?", "output": "A", "generator": model} for model in "xy"]
TEXTS = [{"id": model, "model": model, "text": "User: Hi!\nAssistant: A"} for model in "xy"]
JUDGED: dict[str, Any] = {
    "instruction": "What?",
    "output_1": "Rain.",
    "generator_1": "x",
    "output_2": "Sun.",
    "generator_2": "y",
}
ARENA = [{"role": "user", "content": "What?"}, {"role": "assistant", "content": "Rain."}]


def _csv(rows: list[dict[str, Any]], mark: str = ",") -> bytes:
    file = io.StringIO()
    writer = csv.DictWriter(file, [*rows[0]], delimiter=mark)
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue().encode("utf-8-sig")


def _sheets(*sheets: list[dict[str, Any]]) -> bytes:
    book = openpyxl.Workbook()
    for rows in sheets:
        sheet = book.create_sheet()
        for cells in ([*rows[0]], *(list(row.values()) for row in rows)):
            sheet.append(cells)
    book.remove(book.worksheets[0])
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "count"),
    [
        ("answers.csv", _csv(ANSWERS), 4),
        ("answers.tsv.gz", gzip.compress(_csv(ANSWERS, "\t")), 4),
        (
            "german.csv",
            _csv([{"Model": row["model"], "Question": "Was?", "Answer": "A"} for row in ANSWERS[:2]], ";"),
            2,
        ),
        ("titled.csv", "Answers of May\n\n".encode("utf-8-sig") + _csv(ANSWERS)[3:], 4),
        ("unicode.csv", _csv(ANSWERS, "\t").decode("utf-8-sig").encode("utf-16"), 4),
        ("sheets.xlsx", _sheets(ANSWERS[:2], ANSWERS[2:]), 4),
        ("pairs.csv", _csv([TWO]), 2),
        ("judged.json", json.dumps([JUDGED]).encode(), 2),
        ("arena.csv", _csv([{**TWO, "conversation_a": json.dumps(ARENA), "conversation_b": json.dumps(ARENA)}]), 2),
        ("outputs.json", json.dumps(OUTPUTS).encode(), 2),
        ("texts.json", json.dumps(TEXTS).encode(), 2),
    ],
)
def test_answers_of_two_models_in_the_files_that_people_have(
    tmp_path: Path, name: str, content: bytes, count: int
) -> None:
    """Guards tables in each form that spreadsheets write, gzip, two answers in a row, AlpacaEval's outputs, and a list of
    texts with ids, which is no list of what twelve people said."""
    (tmp_path / name).write_bytes(content)
    found = load_sources([tmp_path / name if name.endswith((".gz", ".xlsx")) else tmp_path], list, list)
    assert len(found) == count
    assert {(*one.entities.values(),) for one in found} == {(HUMAN, "x"), (HUMAN, "y")}
    texts = {line.text for one in found for line in one.lines}
    assert texts <= {"What, then?", "A\nB", "Was?", "A", "What?", "Rain.", "Sun.", "Hi!"}


def test_a_file_that_is_no_table_is_told_its_name(tmp_path: Path) -> None:
    (tmp_path / "talks.xlsx").write_bytes(b"nothing")
    with pytest.raises(DataError, match=r"talks\.xlsx.*is not a xlsx file"):
        load_sources([tmp_path / "talks.xlsx"], list, list)


def test_models_that_share_a_question_id_in_a_file_are_told_apart(tmp_path: Path) -> None:
    """Their name is put behind the id, each question still meets itself, and it is said."""
    rows = [
        {**row, "id": None, "question_id": n}
        for model in ("alpha", "beta")
        for n, row in enumerate(answers(model, ["Rain?", "Rome?"]), start=80)
    ]
    dialogues = read(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows)))
    assert items(dialogues, "same_start") == [("80-alpha", "80-beta"), ("81-alpha", "81-beta")]
    assert "bot = alpha or beta" in taken_as(dialogues)[0], "not the last one alone"
    assert taken_as(dialogues)[-1].endswith("models share ids, so the model's name is added to each (81-beta)")
    with pytest.raises(DataError, match="the id 80-beta appears twice"):
        read(tmp_path / "b.jsonl", "\n".join(map(json.dumps, [*rows, rows[2]])))


def test_files_with_the_same_ids_are_told_apart_by_their_names(tmp_path: Path) -> None:
    """Two models' answers numbered alike: the first file keeps its ids, each question still meets itself, and it is said."""
    given = [tmp_path / "alpha.jsonl", tmp_path / "beta.jsonl"]
    for path in given:
        rows = [{**row, "id": n} for n, row in enumerate(answers(path.stem, ["Rain?", "Rome?"]))]
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    dialogues = load_sources(given, lambda task: [], list)
    assert [one.dialogue_id for one in dialogues] == ["0", "1", "beta-0", "beta-1"]
    assert items(dialogues, "same_start") == items(dialogues) == [("0", "beta-0"), ("1", "beta-1")]
    assert taken_as(dialogues)[-1].endswith("the same ids, so the file's name is added before each (beta-1)")
    with pytest.raises(DataError, match="two dialogues have the id 0"):
        load_sources([*given, given[0]], lambda task: [], list)


@pytest.mark.parametrize(("count", "remarks"), [(3, 3 + 2), (5, 1 + 1), (120, 1 + 1)])
def test_many_files_of_a_folder_are_told_in_a_line(tmp_path: Path, count: int, remarks: int) -> None:
    """Guards the launch's first screen: a line for the form and one for the shared ids, however many files there are."""
    for number in range(count):
        said = [{"role": "user", "content": f"Rain, {number}?"}, {"role": "assistant", "content": "Yes."}]
        row = {"id": "one", "model": f"bot{number % 2}", "messages": said}
        (tmp_path / f"talk{number:03}.json").write_text(json.dumps([row]), encoding="utf-8")
    told = taken_as(load_sources([tmp_path], lambda task: [], list))
    assert len(told) == remarks
    if remarks == 2:
        assert told[0].startswith(f"{count} files: {count} dialogues, form=messages (")
        assert "bot0 or bot1" in told[0]
        assert told[1].startswith(f"{count - 1} files: another file has the same ids")
        assert told[1].endswith("(such as talk001-one)")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.csv", b" \n", "is empty"),
        ("broken.xlsx", b"PK no sheet", "is not a xlsx file"),
        ("chats.parquet", b"PAR1", "need the package pyarrow, which is not installed.*pip install pyarrow"),
        ("ragged.csv", b"question,answer\nHi?\n", "row 2 has 1 cell, the header 2"),
        ("alone.csv", b'messages\n"User: Hi?\nAssistant: Hello"\n', ""),
        ("number.csv", b"question,answer\nHow many?,42\n", ""),
        ("twice.csv", b"question,Question,answer\nHi?,Hi?,Hello\n", ""),
    ],
)
def test_tables_that_cannot_be_read_say_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes, words: str
) -> None:
    """An empty table was taken for Parquet, a package that lacks for a broken file, and a name in two cases ended badly."""
    for package in ("pyarrow", "fastparquet"):
        monkeypatch.setitem(sys.modules, package, None)
    (tmp_path / name).write_bytes(content)
    if not words:
        assert [len(one.lines) for one in load_dialogues(tmp_path / name)] == [2]
        return
    with pytest.raises(DataError, match=f"(?s){words}"):
        load_dialogues(tmp_path / name)


@published
def test_published_chats() -> None:
    pairs = load_sources([str(CASES / "B1_acute_pairs" / "pairs.jsonl")], lambda task: [], list)
    assert (len(pairs), items(pairs)) == (6, [(f"alpha{n}", f"beta{n}") for n in range(3)])
    entry = {"file": str(CASES / "B2_messages" / "messages.jsonl"), "entities": {"assistant": "alpha", "user": "human"}}
    chats = load_sources([entry], lambda task: [], list)
    assert [(len(chat.lines), chat.speakers, chat.context) for chat in chats] == [(4, ["user", "assistant"], ())] * 2
    case = CASES / "I1_same_question"
    same = load_sources([str(case / f"{name}.jsonl") for name in ("alpha", "beta")], lambda task: [], list)
    assert items(same, wanted=6) == [(f"alpha-{n}", f"beta-{n}") for n in range(6)]


REPLY = "# Head\n- a\n- b\n**bold** two words"


@pytest.mark.parametrize(
    "cell",
    [
        REPLY,
        json.dumps([REPLY]),
        json.dumps([{"role": "user", "content": "A long question"}, {"role": "assistant", "content": REPLY}]),
        json.dumps([{"role": "developer", "content": "Be kind."}, {"role": "assistant", "content": REPLY}]),
        json.dumps([{"role": "tool", "content": "42"}, {"role": "assistant", "content": REPLY}]),
        json.dumps([{"id": "human_evaluator", "text": "A long question"}, {"id": "otter", "text": REPLY}]),
        json.dumps([{"from": "human", "value": "A long question"}, {"from": "gpt", "value": REPLY}]),
        json.dumps({"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": REPLY}]}),
        json.dumps([{"author": {"role": "user"}, "content": {"parts": ["Hi"]}},
                    {"author": {"role": "assistant"}, "content": {"parts": [REPLY]}}]),
        f"\n\nHuman: A long question\n\nAssistant: {REPLY}",
    ],
)  # fmt: skip
def test_what_a_model_said_in_a_cell_is_all_that_counts_as_its_style(cell: str) -> None:
    """Guards the control for length against counting what the person wrote."""
    assert replies_in(cell) == [REPLY]


@pytest.mark.parametrize(
    ("line", "form"),
    [
        (CHAT, "acute_pairs"),
        (CHAT, "model_chat"),
        ({**CHAT, "entities": ["alpha"]}, "auto"),
        ([None], "text"),
        ({**PAIR, "speakers_to_eval": [[], "beta"]}, "auto"),
        ({**PAIR, "dialogue_dicts": [{"dialogue": ["x"]}, {"dialogue": ["y"]}]}, "auto"),
    ],
)
def test_lines_of_another_form_are_refused_in_words(tmp_path: Path, line: Any, form: str) -> None:
    (tmp_path / "chats.jsonl").write_text(json.dumps(line) + "\n")
    with pytest.raises(DataError):
        load_sources([{"file": str(tmp_path / "chats.jsonl"), "form": form}], lambda task: [], list)


@pytest.mark.parametrize("text", ["", "  \n", "---\n", "---\n---\n"])
def test_a_text_without_a_dialogue_has_none(text: str) -> None:
    assert texts_of(text) == []


def test_several_lines_of_dashes_part_two_dialogues_once() -> None:
    first, second = "User: Hi\nBot: Hello\n---\nstill the bot", "User: Bye\nBot: Bye"
    assert texts_of(f"---\n{first}\n\n---\n  ===\n\n{second}\n---\n") == [first, second]
