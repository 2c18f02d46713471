"""The heart of the Bot Speaker, with real TorchAgents: whatever is picked, all models share one history."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parlai_humaneval.display.text import is_blank

LINES = st.text(min_size=1, max_size=40).filter(lambda text: not is_blank(text))
PICKS = st.one_of(
    st.tuples(st.just("model"), st.sampled_from(["tiny_a", "tiny_b"])),
    st.tuples(st.just("default"), st.just("")),
    st.tuples(st.just("written"), LINES),
)
TURNS = st.lists(st.tuples(LINES, PICKS), min_size=1, max_size=5)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(turns=TURNS, seed=st.integers(0, 1000))
def test_all_histories_equal_the_dialogue_after_any_picks(tiny_pool: Any, turns: Any, seed: int) -> None:
    """Guards that each model hears what continued as its own (p2) and the human as its partner (p1), and alike."""
    speaker = tiny_pool.speaker(["tiny_a", "tiny_b"], seed=seed)
    expected = []
    for text, (kind, value) in turns:
        speaker.observe({"id": "human", "text": text, "episode_done": False})
        message = speaker.act()
        expected.append(("human", text))
        if kind == "model":
            chosen = next(c for c in message["candidates"] if c["model"] == value)
            expected.append(("bot", speaker.accept(chosen["candidate_id"])))
            assert expected[-1][1] == chosen["text"]
        elif kind == "written":
            expected.append(("bot", speaker.accept(text=value)))
            assert expected[-1][1] == value
        else:
            expected.append(("bot", message["text"]))
    speaker.observe({"id": "human", "text": "Last one.", "episode_done": False})
    expected.append(("human", "Last one."))

    assert speaker.dialogue == expected
    token = {"human": "__p1__", "bot": "__p2__"}
    for child in speaker._children:
        history = child.agent.history
        assert history.history_raw_strings == [line for _, line in expected]
        assert history.history_strings == [f"{token[who]} {line}" for who, line in expected]
        assert history.history_vecs == speaker._children[0].agent.history.history_vecs
