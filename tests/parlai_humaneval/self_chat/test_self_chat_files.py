"""What stands in the files: who says what, how dialogues begin, and what ParlAI's own reader makes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from make_talkers import Talkers, acts, chancy, contents, counting, dialogues
from parlai.utils.conversations import Conversations

from parlai_humaneval._util.data_files import DataError
from parlai_humaneval.dialogues.files import load_dialogues
from parlai_humaneval.models.model_pool import ModelFailed
from parlai_humaneval.models.zoo.entries import ZooError
from parlai_humaneval.self_chat import SelfChatError, SelfChatSettings, generate, pairs_of
from parlai_humaneval.self_chat.dialogue import SILENCE_SHOWN, ModelsFailed
from parlai_humaneval.self_chat.files import dialogue_id, file_stem


def jsonl(path: Path, *rows: Any) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_parlais_own_reader_reads_and_shows_the_file(talkers: Talkers, tmp_path: Path) -> None:
    """Guards the format: ParlAI's Conversations finds the dialogues, their words and the metadata."""
    specs = talkers.specs(a=counting, b=lambda dialogue, rng: f"two\u2028lines\x85 of {len(dialogue)}")
    (file,) = generate(specs, [("a", "b")], SelfChatSettings(num_dialogues=3, exchanges=2, seed=4), tmp_path)
    read = Conversations(str(file.path))
    assert len(read) == 3
    for conversation, written in zip(read, dialogues_by_newline(file.path), strict=True):
        assert [turn.text for turn in conversation] == [act["text"] for act in acts(written)]
    assert "a: Hi!" in str(read[0])
    assert read.metadata.self_chat is False
    assert read.metadata.speakers == ["a", "b"]
    assert read.metadata.opt["seed"] == 4
    options = {name: {"model": "scripted", "script": name} for name in "ab"}
    assert read.metadata.extra_data["identity"]["models"] == options
    assert "parlai" in read.metadata.extra_data["runs"][0]
    assert "Speakers: ['a', 'b']" in read.metadata.read()


def dialogues_by_newline(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def test_this_projects_reader_reads_the_file(talkers: Talkers, tmp_path: Path) -> None:
    """Guards what the crowd tasks show: every line, under the speaker who said it."""
    (file,) = generate(talkers.specs(a=counting), [("a", "a")], SelfChatSettings(num_dialogues=2), tmp_path)
    read = load_dialogues(file.path)
    assert [len(dialogue.lines) for dialogue in read] == [12, 12]
    assert read[0].speakers == ["a_1", "a_2"]


def test_both_hear_all_and_speak_by_turns(talkers: Talkers, tmp_path: Path) -> None:
    """Guards the histories: each line answers the one before it and counts all before, the speaker's own among them."""
    (file,) = generate(talkers.specs(a=counting), [("a", "a")], SelfChatSettings(num_dialogues=1), tmp_path)
    said = acts(dialogues(file.path)[0])
    assert len(said) == 12
    assert said[0] == {"id": "a_1", "text": "Hi!", "seeded": True}
    for number, act in enumerate(said[1:], start=1):
        before = said[number - 1]["text"]
        assert act == {"id": ("a_1", "a_2")[number % 2], "text": f"line {number}, after “{before[-25:]}”"}


def test_who_starts_alternates_and_entities_say_who_is_who(talkers: Talkers, tmp_path: Path) -> None:
    """Guards fairness within a pair: each model begins half of the dialogues."""
    specs = talkers.specs(a=counting, b=counting)
    (file,) = generate(specs, [("a", "b")], SelfChatSettings(num_dialogues=5, exchanges=2), tmp_path, batch_size=2)
    made = dialogues(file.path)
    assert [acts(dialogue)[0]["id"] for dialogue in made] == ["a", "b", "a", "b", "a"]
    assert all(dialogue["entities"] == {"a": "a", "b": "b"} for dialogue in made)
    assert [dialogue["number"] for dialogue in made] == list(range(5))
    (alone,) = generate(specs, [("b", "b")], SelfChatSettings(num_dialogues=2, exchanges=2), tmp_path)
    assert [dialogue["entities"] for dialogue in dialogues(alone.path)] == [{"b_1": "b", "b_2": "b"}] * 2


def test_ids_are_unique_over_files(talkers: Talkers, tmp_path: Path) -> None:
    """Guards records that name a dialogue by its id alone."""
    specs = talkers.specs(a=counting, b=counting, c=counting)
    pairs = pairs_of(["a", "b", "c"], pairs=True) + pairs_of(["a", "b", "c"], pairs=False)
    files = generate(specs, pairs, SelfChatSettings(num_dialogues=3, exchanges=1), tmp_path)
    ids = [dialogue["dialogue_id"] for file in files for dialogue in dialogues(file.path)]
    assert len(set(ids)) == len(ids) == 18


@given(st.lists(st.text("ab-/. _ö", min_size=1, max_size=5), min_size=2, max_size=4, unique=True))
def test_no_two_pairs_share_a_file_or_an_id(names: list[str]) -> None:
    """Guards names with slashes, hyphens or other letters: a file for each, and none that leads out of the folder."""
    pairs = pairs_of(names, pairs=True) + pairs_of(names, pairs=False)
    stems = [file_stem(pair) for pair in pairs]
    assert len(set(stems)) == len(stems)
    assert all(Path(stem).name == stem and not stem.startswith(".") for stem in stems)
    assert len({dialogue_id(pair, 0, 0) for pair in pairs}) == len(pairs)


def test_first_exchange_is_put_into_both_mouths(talkers: Talkers, tmp_path: Path) -> None:
    """Guards Spot The Bot's beginnings: the first two lines of a dialogue of the file, marked, one for each side."""
    rows = [{"dialogue_id": f"d{n}", "turns": [f"first {n}", f"second {n}", "third"]} for n in range(3)]
    settings = SelfChatSettings(
        num_dialogues=3, exchanges=2, start="first_exchange", start_file=jsonl(tmp_path / "test.jsonl", *rows)
    )
    (file,) = generate(talkers.specs(a=counting, b=counting), [("a", "b")], settings, tmp_path / "out")
    made = dialogues(file.path)
    assert {dialogue["start_id"] for dialogue in made} == {"d0", "d1", "d2"}, "drawn without repetition while they last"
    for dialogue in made:
        number = dialogue["start_id"][1]
        first, second, third, fourth = acts(dialogue)
        assert (first["text"], second["text"]) == (f"first {number}", f"second {number}")
        assert first["seeded"] is second["seeded"] is True
        assert not {"seeded"} & (set(third) | set(fourth))
        assert first["id"] == third["id"] != second["id"] == fourth["id"]
    assert file.replies == 6


def test_contexts_give_each_side_its_persona(talkers: Talkers, tmp_path: Path) -> None:
    """Guards whom a model plays: it is told its own persona, not the partner's, and the file says whose is whose."""
    context = {
        "context_id": "c1",
        "human_persona": ["I have a cat."],
        "bot_persona": ["I am a cook."],
        "opening": [["human", "Hello there."], ["bot", "Good day."]],
        "topic": "Food",
    }
    told: dict[str, Any] = {}
    specs = talkers.specs(a=counting)
    original = talkers.agents["a"].batch_act

    def listening(observations: Any) -> Any:
        for observation in observations:
            told[observation["dialogue"][-1][1]] = observation["persona"]
        return original(observations)

    talkers.agents["a"].batch_act = listening  # type: ignore[method-assign]  # the loaded agent itself is listened to
    talkers.agents["a"].clone = lambda: clone_that(listening, talkers)  # type: ignore[method-assign]  # the loaded agent itself is listened to
    settings = SelfChatSettings(
        num_dialogues=1, exchanges=2, start="contexts", start_file=jsonl(tmp_path / "contexts.jsonl", context)
    )
    (file,) = generate(specs, [("a", "a")], settings, tmp_path / "out")
    (made,) = dialogues(file.path)
    assert [act["text"] for act in acts(made)[:2]] == ["Hello there.", "Good day."]
    assert told["Good day."] == ("I have a cat.",), "the first speaker answers the second's opening"
    assert [persona for heard, persona in told.items() if heard.startswith("line 2")] == [("I am a cook.",)]
    assert [(act["text"], act.get("about")) for act in made["context"]] == [
        ("partner's persona: I have a cat.", "a_1"),
        ("your persona: I am a cook.", "a_2"),
        ("Food", None),
    ]


def clone_that(listening: Any, talkers: Talkers) -> Any:
    twin = type(talkers.agents["a"])(counting, {})
    twin.batch_act = listening
    return twin


def test_repeated_empty_and_equal_are_counted(talkers: Talkers, tmp_path: Path) -> None:
    """Guards the counts against hand-made ones: b says the same thrice after its first, a is silent at its second line."""
    specs = talkers.specs(
        a=lambda dialogue, rng: "" if len(dialogue) == 4 else f"I: {len(dialogue)}", b=lambda *_: "Yes."
    )
    (file,) = generate(specs, [("a", "b")], SelfChatSettings(num_dialogues=3, exchanges=4), tmp_path)
    made = dialogues(file.path)
    # Dialogues 0 and 2 (a begins: lines 0, 2, 4, 6) are equal; in dialogue 1, b's “Hi!” is its first line.
    assert [act["text"] for act in acts(made[0])] == [
        "Hi!",
        "Yes.",
        "I: 2",
        "Yes.",
        SILENCE_SHOWN,
        "Yes.",
        "I: 6",
        "Yes.",
    ]
    assert acts(made[0])[4]["empty"] is True
    assert (file.dialogues, file.generated, file.replies) == (3, 3, 21)
    assert (file.repeated, file.empty, file.equal_dialogues) == (3 + 2 + 3, 2, 1)


def test_a_model_that_fails_is_named_and_what_is_done_is_kept(talkers: Talkers, tmp_path: Path) -> None:
    """Guards a night's work: a model that breaks in the fifth dialogue costs none of the first ones."""
    broken = [True]

    def breaking(dialogue: Any, rng: Any) -> str:
        if broken[0] and dialogue[0][1] == "five":
            raise RuntimeError("out of memory")
        return f"line {len(dialogue)}"

    openers = tmp_path / "openers.txt"
    openers.write_text("one\ntwo\nthree\nfour\nfive\n", encoding="utf-8")
    settings = SelfChatSettings(num_dialogues=5, exchanges=2, start="openers", start_file=str(openers))
    specs = talkers.specs(a=breaking)
    with pytest.raises(ModelFailed, match=r"a failed: RuntimeError: out of memory"):
        generate(specs, [("a", "a")], settings, tmp_path / "out", batch_size=1, retries=0)
    before = (tmp_path / "out" / "a.jsonl").read_text(encoding="utf-8")
    broken[0] = False
    (file,) = generate(specs, [("a", "a")], settings, tmp_path / "out", batch_size=1)
    assert file.dialogues == 5
    assert file.path.read_text(encoding="utf-8").startswith(before)
    assert {acts(dialogue)[0]["text"] for dialogue in dialogues(file.path)} == {"one", "two", "three", "four", "five"}


@pytest.mark.parametrize("pairs", [[("a", "a"), ("bad", "bad"), ("c", "c")], [("a", "bad"), ("a", "c"), ("bad", "c")]])
def test_other_models_go_on_when_one_fails(talkers: Talkers, tmp_path: Path, pairs: list[Any]) -> None:
    """Guards a run of many models: those that work make what they make alone, and nothing half of the failed one is kept."""

    def breaking(dialogue: Any, rng: Any) -> str:
        if len(dialogue) > 2:
            raise RuntimeError("out of memory")
        return "So far so good."

    settings = SelfChatSettings(num_dialogues=4, exchanges=3, start="openers")
    specs = talkers.specs(a=chancy, bad=breaking, c=chancy)
    sound = [pair for pair in pairs if "bad" not in pair]
    alone = generate(specs, sound, settings, tmp_path / "alone")
    with pytest.raises(ModelsFailed, match=r"^no reply from bad: bad failed: RuntimeError: out of memory$") as failed:
        generate(specs, pairs, settings, tmp_path / "out", retries=0)
    assert [file.dialogues for file in failed.value.files] == [0 if "bad" in pair else 4 for pair in pairs]
    for file in alone:
        assert (tmp_path / "out" / file.path.name).read_bytes() == file.path.read_bytes()
    assert sum(map(len, contents(tmp_path / "out").values())) == sum(map(len, contents(tmp_path / "alone").values()))
    again = generate(talkers.specs(a=chancy, bad=counting, c=chancy), pairs, settings, tmp_path / "out")
    assert [(file.dialogues, file.generated) for file in again] == [(4, 4 if "bad" in pair else 0) for pair in pairs]


def test_a_model_that_cannot_be_loaded_stops_no_other(tmp_path: Path) -> None:
    """Guards the same at loading, with real models in a tournament."""
    from parlai_humaneval.models.zoo.entries import load_zoo

    zoo = load_zoo()
    lost = zoo["dull"].model_copy(update={"name": "lost", "options": {**zoo["dull"].options, "no_such_option": 1}})
    pairs = [("dull", "lost"), ("dull", "eliza")]
    settings = SelfChatSettings(num_dialogues=1, exchanges=2)
    with pytest.raises(ModelsFailed, match="no_such_option") as failed:
        generate([zoo["dull"], lost, zoo["eliza"]], pairs, settings, tmp_path)
    assert failed.value.models == ["lost"]
    assert [file.dialogues for file in failed.value.files] == [0, 1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"exchanges": 1, "start": "first_exchange"}, "the models have nothing left to say; ask for more exchanges"),
        ({"start": "contexts", "context_kind": "bst"}, "contexts of bst are not packaged; name their file"),
    ],
)
def test_settings_that_cannot_work_are_refused(
    talkers: Talkers, tmp_path: Path, settings: dict[str, Any], message: str
) -> None:
    """Guards against a folder of dialogues without a word of a model, and against a missing file."""
    with pytest.raises(SelfChatError, match=message):
        generate(
            talkers.specs(a=counting), [("a", "a")], SelfChatSettings(num_dialogues=1, **settings), tmp_path / "out"
        )
    assert not (tmp_path / "out").exists()


def test_a_missing_file_and_an_unknown_model_are_named(talkers: Talkers, tmp_path: Path) -> None:
    """Guards the two commonest mistakes: nothing is made before they are told."""
    specs = talkers.specs(a=counting)
    settings = SelfChatSettings(num_dialogues=1, start="openers", start_file=str(tmp_path / "no.txt"))
    with pytest.raises(DataError, match=r"no\.txt: cannot be read"):
        generate(specs, [("a", "a")], settings, tmp_path / "out")
    with pytest.raises(ZooError, match="no model is called “b”"):
        generate(specs, [("a", "b")], SelfChatSettings(num_dialogues=1), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_pairs_of_models() -> None:
    """Guards the tournament: every two once, and clear words for too few."""
    assert pairs_of(["a", "b", "c"], pairs=True) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert pairs_of(["a", "b"], pairs=False) == [("a", "a"), ("b", "b")]
    with pytest.raises(SelfChatError, match="a pair takes two models"):
        pairs_of(["a"], pairs=True)
    with pytest.raises(SelfChatError, match="b: named twice"):
        pairs_of(["a", "b", "b"], pairs=False)


def test_a_partner_hears_no_thoughts_and_the_file_keeps_them(talkers: Talkers, tmp_path: Path) -> None:
    """Guards dialogues of models that think: what one plans is no line, and nothing but a plan is a silence."""

    def thinks(dialogue: Any, rng: Any) -> str:
        return "<think>Hm" if len(dialogue) > 2 else f"<think>{len(dialogue)}</think>Hello."

    specs = talkers.specs(a=thinks, b=lambda dialogue, rng: f"heard {dialogue[-1][1]}")
    settings = SelfChatSettings(num_dialogues=1, exchanges=3, seed=4)
    (file,) = generate(specs, [("a", "b")], settings, tmp_path, retries=1)
    kept = [(act["text"], act.get("raw_text")) for act in acts(dialogues_by_newline(file.path)[0])]
    assert kept == [
        ("Hi!", None),
        ("heard Hi!", None),
        ("Hello.", "<think>2</think>Hello."),
        ("heard Hello.", None),
        (SILENCE_SHOWN, "<think>Hm"),
        (f"heard {SILENCE_SHOWN}", None),
    ]
    assert load_dialogues(file.path)[0].lines[2].text == "Hello."
