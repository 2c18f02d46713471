"""Who the speakers are, what was said before, and what each model is told of it, in ParlAI's convention."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import scripted_models
from hands import Hands, heard_by, texts
from live import Launch, launch
from parlai.core.message import Message

from mephisto_tasks.config.task import ConfigError
from parlai_humaneval._util.data_files import DataError
from parlai_humaneval.materials.contexts import load_contexts, load_openers
from parlai_humaneval.schema.records import DialogueRecord
from parlai_humaneval.schema.steps import MessageStep, PageState

CONTEXTS = [
    {
        "context_id": "baker",
        "human_persona": ["I bake bread.", "I get up early."],
        "bot_persona": ["I am a night nurse.", "I love rolls."],
        "opening": [["human", "Good morning!"], ["bot", "Good night, rather."]],
        "topic": "breakfast",
    }
]


Played = dict[str, tuple[str, ...]]
"""Model → the persona that it played when it was last asked."""


@pytest.fixture(autouse=True)
def played(monkeypatch: pytest.MonkeyPatch) -> Iterator[Played]:
    found: Played = {}
    answer = scripted_models.ScriptedAgent._answer

    def noting(self: scripted_models.ScriptedAgent, observation: Message) -> Message:
        found[str(self.opt["script"])] = observation["persona"]
        return answer(self, observation)

    monkeypatch.setattr(scripted_models.ScriptedAgent, "_answer", noting)
    yield found
    scripted_models.HEARD.clear()


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "contexts.jsonl"
    path.write_text("".join(json.dumps(context) + "\n" for context in CONTEXTS))
    return str(path)


@dataclass
class Seen:
    """What a rater saw in front of the first replies, and whether their first words were given to them."""

    state: PageState
    given: bool
    record: DialogueRecord


async def first_choice(start: Launch, **settings: Any) -> Seen:
    async with start(**settings) as run, Hands(run) as rater:
        state = await rater.state()
        given = not isinstance(state.step, MessageStep)
        state = state if given else await rater.say("typed by hand")
        return Seen(state, given, rater.record(run))


def character(seen: Seen) -> list[str] | None:
    return seen.state.context.lines if seen.state.context else None


async def test_a_context_gives_both_their_parts(start: Launch, file: str, played: Played) -> None:
    """The rater reads their own persona only; each model plays its own; all go on behind the lines already said."""
    seen = await first_choice(start, context_file=file, bot_persona=True)
    assert character(seen) == ["I bake bread.", "I get up early."]
    assert texts(seen.state) == ["Good morning!", "Good night, rather.", "typed by hand"]
    assert "night nurse" not in seen.state.model_dump_json()
    for model in ("alpha", "beta"):
        assert heard_by(model, 3) == [
            ("human", "Good morning!"),
            ("bot", "Good night, rather."),
            ("human", "typed by hand"),
        ]
        assert played[model] == ("I am a night nurse.", "I love rolls.")
    context = seen.record.context
    assert (context.context_id, context.persona) == ("baker", ["I bake bread.", "I get up early."])
    nurse = ["I am a night nurse.", "I love rolls."]
    assert context.bot_personas == {"alpha": nurse, "beta": nurse}
    assert [line.speaker for line in context.opening] == ["human", "bot"]
    assert (context.topic, context.topic_source, seen.state.topic) == ("breakfast", "context", "breakfast")
    assert len(seen.record.turns) == 1, "lines said before are no turns"


async def test_without_personas_in_one_word_each(start: Launch, file: str, played: Played) -> None:
    """The same file with persona=false and bot_persona=false: the opening stays, nobody is given a part."""
    seen = await first_choice(start, context_file=file, persona=False, bot_persona=False)
    assert character(seen) is None
    assert texts(seen.state)[:2] == ["Good morning!", "Good night, rather."]
    assert played == {"alpha": (), "beta": ()}
    assert (seen.record.context.persona, seen.record.context.bot_personas) == ([], {})


async def test_a_persona_for_some_of_the_models(start: Launch, file: str, played: Played) -> None:
    """One model plays, the other does not: with and without can be compared in one dialogue."""
    seen = await first_choice(start, context_file=file, bot_persona=["beta"])
    assert played == {"alpha": (), "beta": ("I am a night nurse.", "I love rolls.")}
    assert list(seen.record.context.bot_personas) == ["beta"]


async def test_the_packaged_sets(start: Launch, played: Played) -> None:
    """bot_persona=true alone is enough: the packaged contexts give both sides theirs, of the same context."""
    seen = await first_choice(start, bot_persona=True)
    (context,) = [c for c in load_contexts("jsonl") if c.context_id == seen.record.context.context_id]
    assert character(seen) == context.human_persona
    assert played["alpha"] == played["beta"] == tuple(context.bot_persona)
    assert seen.given, "“Hi!” is sent for the rater where the context has no opening"


async def test_an_opener_of_the_humans_is_their_first_message(start: Launch) -> None:
    """Sent for them, in place of “Hi!”, and marked as such in the record."""
    seen = await first_choice(start, openers="packaged")
    assert seen.given
    (line,) = texts(seen.state)
    assert line in load_openers()
    assert (seen.record.turns[0].human_text, seen.record.turns[0].human_fixed) == (line, True)
    assert heard_by("alpha", 1) == [("human", line)]


async def test_an_opener_of_the_bots_stands_first_and_each_model_has_said_it(start: Launch, tmp_path: Path) -> None:
    """The rater then writes the first message; every model takes the opener for its own words."""
    own = tmp_path / "openers.txt"
    own.write_text("Welcome to my kitchen!\n")
    seen = await first_choice(start, openers=str(own), opener_speaker="bot", bot_persona=True)
    assert texts(seen.state) == ["Welcome to my kitchen!", "typed by hand"]
    assert not seen.given
    for model in ("alpha", "beta"):
        assert heard_by(model, 2) == [("bot", "Welcome to my kitchen!"), ("human", "typed by hand")]
    assert not seen.record.turns[0].human_fixed


async def test_side_by_side_the_bots_opener_stands_in_both_columns(start: Launch, tmp_path: Path) -> None:
    own = tmp_path / "openers.txt"
    own.write_text("Welcome!\n")
    async with start(task="arena", openers=str(own), opener_speaker="bot", turns=1) as run, Hands(run) as rater:
        state = await rater.state()
        assert [(entry.text, entry.column) for entry in state.transcript] == [("Welcome!", 0), ("Welcome!", 1)]
        await rater.say("hello both of you")
        await rater.do("a")
        await rater.hand_in()
        assert rater.record(run).verdict_model in ("alpha", "beta"), "the opener is nobody's reply"


async def test_parlais_own_files(start: Launch, tmp_path: Path, played: Played) -> None:
    """ConvAI2's format: “your persona” is the bot's, the partner's is the rater's."""
    path = tmp_path / "train_both_original.txt"
    path.write_text(
        "1 your persona: i drive a red bus.\n2 partner's persona: i have a boat.\n3 hello there\thi , how are you ?\n"
    )
    seen = await first_choice(start, context_kind="convai2", context_file=str(path), bot_persona=True)
    assert character(seen) == ["i have a boat."]
    assert played["alpha"] == ("i drive a red bus.",)
    assert seen.state.transcript[0].text == "Hi!", "what was said in the file is not said again"


@pytest.mark.parametrize(
    ("settings", "lines", "said"),
    [
        (
            {"persona_file": "{file}"},
            ['{"persona_id": "p", "sentences": ["I cook."]}', ""],
            "line 2: the line is empty",
        ),
        ({"persona_file": "{file}"}, ['{"persona_id": "p", "sentences": ["I cook.", " "]}'], "sentences.1"),
        ({"context_file": "{file}"}, ["", json.dumps(CONTEXTS[0])], "line 1: the line is empty"),
        (
            {"context_file": "{file}", "bot_persona": True},
            ['{"context_id": "c", "human_persona": ["I cook."]}'],
            "context 'c' has no persona for the bot",
        ),
        ({"openers": "{file}"}, ["Hello!", "", "Hi."], "line 2: the line is empty"),
        ({"context_kind": "bst", "bot_persona": True}, [], "context_kind=bst needs the context_file"),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, settings: dict[str, Any], lines: list[str], said: str) -> None:
    """Told with file and line before anything is launched; no database is begun."""
    path = tmp_path / "material"
    path.write_text("\n".join(lines) + "\n")
    named = {key: str(path) if value == "{file}" else value for key, value in settings.items()}
    data_dir = tmp_path / "data"
    with pytest.raises((DataError, ConfigError)) as caught, launch(data_dir, **named):
        pass
    assert said in str(caught.value)
    assert not (data_dir / "database.db").exists()
