"""What is sent of a finished dialogue: the lines asked for, marked rightly, and nothing that tells who spoke."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mephisto_tasks.annotation.steps import masked, names_of, panel, shown_dialogue, speakers_of
from parlai_humaneval.dialogues.dialogue import HUMAN, Dialogue, SaidLine
from parlai_humaneval.display.presenter import Presenter
from parlai_humaneval.schema.records import Candidate, ReplayedRating, Turn

A, B = "model-of-a-kind", "secret-model-b"


def dialogue(lines: int = 6, entities: tuple[str, str] = (A, B), context: Sequence[str] = ()) -> Dialogue:
    said = tuple(SaidLine(("s1", "s2")[number % 2], f"line {number}") for number in range(lines))
    return Dialogue(
        "secret-id", said, tuple(context), 1, dict(zip(("s1", "s2"), entities, strict=True)), source="secret.jsonl"
    )


@pytest.mark.parametrize(("lines", "k", "shown"), [(6, 1, 2), (6, 3, 6), (6, None, 6), (7, 3, 6), (7, None, 7)])
def test_k_exchanges_are_two_lines_each(lines: int, k: int | None, shown: int) -> None:
    """An odd last line has no answer: it is no part of an exchange, and stands only where all is shown."""
    found = shown_dialogue(dialogue(lines), k=k)
    assert [line.text for line in found.lines] == [f"line {number}" for number in range(shown)]
    assert found.k == k


def test_exchanges_of_the_seed_stand_before_a_segment_and_do_not_count() -> None:
    """Deriu et al. 2020, §3.1: e₀, …, eₖ, of which the models said k."""
    found = shown_dialogue(dialogue(8), k=2, seeded=1)
    assert (len(found.lines), found.k) == (6, 2)
    with pytest.raises(ValueError, match="has 4 exchanges, not 5"):
        shown_dialogue(dialogue(8), k=4, seeded=1)


def test_only_what_models_say_is_masked() -> None:
    """A person who names a bot gives nobody away; what was said stays beside what is shown."""
    said = (SaidLine("s1", "Are you zz_bot?"), SaidLine("s2", "Yes, I am zz_bot!"))
    shown = shown_dialogue(Dialogue("d", said, (), 1, {"s1": HUMAN, "s2": "zz_bot"}))
    lines = masked(shown, ["zz_bot"]).lines
    assert [line.text for line in lines] == ["Are you zz_bot?", "Yes, I am [name]!"]
    assert [line.raw_text for line in lines] == [None, "Yes, I am zz_bot!"]
    assert [mask.original for mask in lines[1].masks] == ["zz_bot"]


def test_what_models_thought_in_imported_dialogues_is_not_shown() -> None:
    """Guards raters of files that others wrote; what a person says of such marks stays."""
    said = (
        SaidLine("s1", "<think>Hi</think>Hello"),
        SaidLine("s2", "<think>A plan.</think>Bye.</s>"),
        SaidLine("s2", "<think>Hm"),
    )
    lines = masked(shown_dialogue(Dialogue("d", said, (), 1, {"s1": HUMAN, "s2": B})), [B]).lines
    assert [line.text for line in lines] == ["<think>Hi</think>Hello", "Bye.", "[…]"]
    assert (lines[1].raw_text, lines[1].changes) == (said[1].text, ["thoughts", "model_tokens"])


def test_what_models_said_looks_the_same_and_what_people_said_stays() -> None:
    """Finished dialogues go by the settings of live ones: a bullet or an emoji would tell which model it was."""
    said = (SaidLine("s1", "**Hello** 😀"), SaidLine("s2", "**Hello** 😀 I'm an AI"), SaidLine("s2", "😀"))
    shown = shown_dialogue(Dialogue("d", said, (), 1, {"s1": HUMAN, "s2": B}))
    lines = masked(shown, [B], Presenter(appearance="plain", emoji="strip", ai_talk=True)).lines
    assert [line.text for line in lines] == ["**Hello** 😀", "Hello", "[…]"]
    assert lines[1].changes == ["markdown", "emoji"]
    assert [mask.kind for mask in lines[1].masks] == ["ai_disclosure"]
    assert lines[2].raw_text == "😀"


def test_the_replies_of_a_dialogue_that_is_rated_again_look_as_its_lines_do() -> None:
    """They stand below them as cards; what their own rater saw stays on record."""
    reply = Candidate(candidate_id="c", model=B, text="**Yes** 😀", position=1, latency_s=0.1)
    turn = Turn(turn=1, human_text="**Hi**", human_at=0.0, candidates=[reply])
    rating = ReplayedRating(technique="sata", metric="preference", question="?", turns=[turn])
    shown = shown_dialogue(dialogue(entities=(HUMAN, B))).model_copy(update={"replayed": rating})
    again = masked(shown, [B], Presenter(appearance="plain", emoji="strip")).replayed
    assert again is not None
    (found,) = again.turns[0].candidates
    assert (found.text, found.raw_text, again.turns[0].human_text) == ("Yes", "**Yes** 😀", "**Hi**")
    assert masked(shown, [B]).replayed == rating


def test_more_exchanges_than_there_are() -> None:
    with pytest.raises(ValueError, match="secret-id: it has 3 exchanges, not 4"):
        shown_dialogue(dialogue(7), k=4)


def test_a_crowd_cannot_be_shown() -> None:
    three = Dialogue("d", tuple(SaidLine(name, "Hi!") for name in "abc"), (), 1)
    with pytest.raises(ValueError, match="3 speakers, but only two can be shown"):
        shown_dialogue(three)


def test_speakers_go_by_who_speaks_first() -> None:
    """Whatever order the source names them in."""
    turned = Dialogue("d", (SaidLine("s2", "Hi!"), SaidLine("s1", "Hello!")), (), 1, {"s1": A, "s2": B})
    found = shown_dialogue(turned)
    assert found.entities == [B, A]
    assert [line.speaker for line in found.lines] == [0, 1]


@pytest.mark.parametrize(("judged", "position"), list(product((0, 1), (1, 2))))
def test_the_judged_speaker_is_marked_the_same_way_in_both(judged: int, position: int) -> None:
    shown = shown_dialogue(dialogue(), judged=judged, position=position)
    page = panel(shown, "pair", title="Conversation")
    assert page.judged_label == f"Speaker {position}"
    assert [line.judged for line in page.lines] == [number % 2 == judged for number in range(6)]
    assert {line.speaker for line in page.lines if line.judged} == {f"Speaker {position}"}
    assert {line.speaker for line in page.lines if not line.judged} == {"Partner"}


def test_in_a_segment_nobody_is_marked() -> None:
    page = panel(shown_dialogue(dialogue(), k=2), "segment", title="Conversation")
    assert (page.judged_label, [line.judged for line in page.lines]) == (None, [False] * 4)
    assert [line.speaker for line in page.lines] == ["Speaker A", "Speaker B"] * 2


def test_a_person_and_a_partner_where_a_chat_is_rated_again() -> None:
    assert names_of(shown_dialogue(dialogue(entities=(HUMAN, B))), "replay") == ["Person", "Partner"]
    assert names_of(shown_dialogue(dialogue(entities=(A, HUMAN))), "replay") == ["Partner", "Person"]


def test_context_is_shown_on_request_without_parlais_words() -> None:
    shown = shown_dialogue(dialogue(context=["your persona: I cook.", "cooking"]))
    assert panel(shown, "replay", title="").context == []
    assert panel(shown, "replay", title="", context=True).context == ["Partner: I cook.", "cooking"]


def test_line_ids_are_new_every_time_and_known_to_the_launch() -> None:
    shown = shown_dialogue(dialogue())
    one, other = (panel(shown, "segment", title="") for _ in range(2))
    ids = [line.line_id for line in [*one.lines, *other.lines]]
    assert len(set(ids)) == 12
    assert [name for _, name in speakers_of(one, shown.lines, shown)] == [A, B] * 3
    assert [line_id for line_id, _ in speakers_of(one, shown.lines, shown)] == ids[:6]


@given(
    st.integers(1, 4),
    st.sampled_from([(A, B), (A, A), (HUMAN, B), (A, HUMAN), (HUMAN, HUMAN)]),
    st.sampled_from(["pair", "segment", "replay"]),
    st.sampled_from([0, 1]),
)
def test_no_page_is_told_who_spoke(k: int, entities: tuple[str, str], how: str, judged: int) -> None:
    """Neither a model's name nor the dialogue's id or source, and in a segment nothing that differs between entities."""
    shown = shown_dialogue(dialogue(8, entities), k=k, judged=None if how == "segment" else judged)
    page = panel(shown, how, title="Conversation").model_dump_json()  # type: ignore[arg-type]  # drawn as text
    assert not [word for word in (A, B, "secret", "human", "bot") if word in page.lower()]
    if how == "segment":
        people = panel(shown_dialogue(dialogue(8, (HUMAN, HUMAN)), k=k), "segment", title="Conversation")
        ids_out = {"lines": {"__all__": {"line_id"}}}
        drawn = panel(shown, "segment", title="Conversation")
        assert drawn.model_dump(exclude=ids_out) == people.model_dump(exclude=ids_out)
