"""Wrong replies beside a true one."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from parlai.core.opt import Opt

from parlai_humaneval.models.baselines.transfer_transfo import (
    OtherReplies,
    offered,
    replies_for_evaluation,
    wrong_replies,
)

TEXTS = st.text("abc", min_size=1, max_size=3)


@given(st.lists(TEXTS), TEXTS, TEXTS, st.integers(1, 5), st.integers())
def test_wrong_replies_are_wrong_different_and_unheard(
    said: list[str], true: str, heard: str, number: int, seed: int
) -> None:
    """Guards what the head learns: a “wrong” reply that is the true one, or was said before, would teach it nonsense."""
    others = OtherReplies()
    for text in said:
        others.add(text)
    drawn = others.draw(number, true=true, heard=heard, rng=random.Random(seed))
    fitting = {text for text in said if text != true and text not in heard}
    assert len(drawn) == len(set(drawn)) == (number if len(fitting) >= number else 0)
    assert set(drawn) <= fitting
    assert drawn == others.draw(number, true=true, heard=heard, rng=random.Random(seed))


def test_only_the_latest_replies_are_remembered() -> None:
    """Guards memory over epochs, and that a reply said again counts as late."""
    others = OtherReplies(kept=2)
    for text in ("one", "two", "one", "three"):
        others.add(text)
    rng = random.Random(1)
    assert set(others.draw(2, true="", heard="", rng=rng)) == {"one", "three"}
    assert others.draw(3, true="", heard="", rng=rng) == []


def test_every_reply_is_drawn_as_often() -> None:
    """Guards chance: four of ten, 2,000 times, is 800 of each, ± five standard deviations."""
    others, rng = OtherReplies(), random.Random(1)
    for number in range(11):
        others.add(f"reply {number:02}")
    counts = Counter(text for _ in range(2000) for text in others.draw(4, true="reply 00", heard="Hi!", rng=rng))
    assert len(counts) == 10
    assert all(690 < count < 910 for count in counts.values())


def test_the_tasks_own_candidates_come_first_when_they_are_replies() -> None:
    """Guards tasks whose candidates are of another kind (knowledge), or too few."""
    others, rng = OtherReplies(), random.Random(1)
    for text in "vwxyz":
        others.add(text)
    own = {"label_candidates": ["a", "true", "b", "c", "b"], "full_text": "Hi!"}
    assert offered(own, "true") == ["a", "true", "b", "c"]
    assert offered({"label_candidates": ["a", "b"]}, "true") == offered({}, "true") == []
    assert set(wrong_replies(own, "true", 3, others, rng)) == {"a", "b", "c"}
    assert set(wrong_replies(own, "true", 5, others, rng)) == set("vwxyz")
    assert set(wrong_replies({"label_candidates": ["a", "b", "c"]}, "true", 3, others, rng)) < set("vwxyz")


def test_a_task_of_training_data_alone_gives_the_replies_of_one_epoch(tmp_path: Path) -> None:
    """Guards evaluation on few training data without validation data: ParlAI goes round in those for ever."""
    lines = (f"text:Hi!\tlabels:reply {number}\tepisode_done:True" for number in range(5))
    (tmp_path / "data_train.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    task = {"task": "fromfile:parlaiformat", "fromfile_datapath": str(tmp_path / "data"), "datatype": "train:evalmode"}
    others = replies_for_evaluation(Opt({**task, "fromfile_datatype_extension": True}))
    drawn = others.draw(4, true="reply 0", heard="Hi!", rng=random.Random(1))
    assert set(drawn) == {f"reply {number}" for number in range(1, 5)}
