"""What holds when orders were given one after another: by hand, and whatever they are."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mephisto_tasks.control.orders import (
    Field,
    Group,
    More,
    Order,
    Pause,
    RestoreModel,
    Resume,
    ResumeGroup,
    RetireModel,
    Steered,
    StopGroup,
    fold,
)

AB = Group("a vs b", ("a", "b"), "", 10)
AC = Group("a vs c", ("a", "c"), "", 10)
BC = Group("b vs c", ("b", "c"), "", 10)
THREE = Field([AB, AC, BC])


def last(orders: Sequence[Order], about: Field = THREE) -> tuple[bool, str]:
    result = fold(orders, about).results[-1]
    return result.done, result.text


def test_nothing_ordered_changes_nothing() -> None:
    steered = fold([], THREE)
    assert (steered.paused, dict(steered.stopped)) == (None, {})
    assert dict(steered.wanted) == {"a vs b": 10, "a vs c": 10, "b vs c": 10}


def test_who_paused_first_is_named_until_it_is_resumed() -> None:
    first, second = Pause(by="page"), Pause()
    assert fold([first, second], THREE).paused == first
    assert last([first, second]) == (True, "It was already paused.")
    assert fold([first, second, Resume()], THREE).paused is None
    assert last([Resume()]) == (True, "It was not paused.")


def test_more_for_all_leaves_out_what_is_stopped() -> None:
    steered = fold([StopGroup(models=["c", "a"]), More(number=5)], THREE)
    assert dict(steered.wanted) == {"a vs b": 15, "a vs c": 10, "b vs c": 15}
    assert steered.results[-1].text == (
        "5 more for each of 2 groups (1 group is stopped and left out): 15 conversations of each are requested now."
    )
    steered = fold([More(number=5, models=["c", "b"])], THREE)
    assert steered.wanted["b vs c"] == 15
    assert steered.results[-1].text == "5 more for b vs c: 15 conversations are requested now."


@pytest.mark.parametrize(("asked", "wanted"), [(10, 15), (12, 15), (15, 15), (20, 20), (4, 15)])
def test_settings_of_a_later_launch_and_orders_are_not_added_up(asked: int, wanted: int) -> None:
    """Five more than ten were ordered: fifteen hold at the next launch, unless its settings ask for still more."""
    order = More(number=5, base={"a vs b": 10})
    assert fold([order], Field([Group("a vs b", ("a", "b"), "", asked)])).wanted["a vs b"] == wanted


def test_more_after_a_launch_that_asked_for_more_is_on_top_of_that() -> None:
    given = [More(number=5, base={"a vs b": 10}), More(number=5, base={"a vs b": 20})]
    assert fold(given, Field([Group("a vs b", ("a", "b"), "", 20)])).wanted["a vs b"] == 25


def test_no_more_than_there_can_be() -> None:
    few = Field([Group("a vs b", ("a", "b"), "", 10, most=12), AC], "judgements")
    done, text = last([More(number=3)], few)
    assert not done
    assert text == (
        "a vs b: only 2 more are possible, because 12 are available and 10 judgements are already requested; add dialogues "
        "and launch again."
    )
    assert dict(fold([More(number=3)], few).wanted) == {"a vs b": 10, "a vs c": 10}, (
        "a refused order does nothing at all"
    )
    assert last([More(number=2)], few)[0]


def test_a_retired_model_takes_its_groups_along_and_back() -> None:
    steered = fold([RetireModel(model="a", by="launch")], THREE)
    assert dict(steered.stopped) == {
        "a vs b": "a retired by a second launch",
        "a vs c": "a retired by a second launch",
    }
    assert dict(fold([RetireModel(model="a"), RestoreModel(model="a")], THREE).stopped) == {}
    stopped_before = [StopGroup(models=["a", "b"]), RetireModel(model="a"), RestoreModel(model="a")]
    assert dict(fold(stopped_before, THREE).stopped) == {"a vs b": "stopped from a terminal"}


def test_who_stops_the_last_group_reads_that_the_launch_will_end() -> None:
    assert "ends" not in last([RetireModel(model="a")])[1]
    assert last([RetireModel(model="a"), StopGroup(models=["b", "c"])])[1] == (
        "b vs c is stopped; work in progress is completed. No groups are left: the launch ends when active "
        "raters have finished."
    )


def test_settings_tell_groups_of_the_same_models_apart() -> None:
    about = Field([Group("a vs b (soba)", ("a", "b"), "soba", 5), Group("a vs b (sata)", ("a", "b"), "sata", 5)])
    assert set(fold([StopGroup(models=["b", "a"], setting="soba")], about).stopped) == {"a vs b (soba)"}
    assert set(fold([StopGroup(models=["b", "a"])], about).stopped) == {"a vs b (soba)", "a vs b (sata)"}
    assert fold([More(number=1, setting="sata")], about).wanted == {"a vs b (soba)": 5, "a vs b (sata)": 6}
    assert last([StopGroup(models=["a", "b"], setting="sota")], about) == (
        False,
        "There is no setting sota; name one of sata, soba.",
    )


@pytest.mark.parametrize(
    ("order", "about", "words"),
    [
        (RetireModel(model="x"), THREE, "There is no model x; name one of a, b, c."),
        (StopGroup(models=["a", "x"]), THREE, "There is no model x"),
        (StopGroup(models=["a"]), THREE, "There is no group of a; name one of a vs b; a vs c; b vs c."),
        (RetireModel(model="q"), Field([AB], kept={"q": "q is kept."}), "q is kept."),
        (RestoreModel(model="a"), Field([AB], loaded=["b"]), "a was not loaded in this launch"),
        (ResumeGroup(models=["a", "b"]), Field([AB], loaded=["b"]), "a was not loaded in this launch"),
    ],
)
def test_what_cannot_be_done_says_why(order: Order, about: Field, words: str) -> None:
    done, text = last([order], about)
    assert not done
    assert words in text


def test_a_group_of_a_retired_model_is_not_resumed_alone() -> None:
    done, text = last([RetireModel(model="a"), ResumeGroup(models=["a", "b"])])
    assert (done, text) == (False, "a is retired; restore it first.")


MODELS = st.sampled_from("abcx")
PAIRS = st.lists(MODELS, min_size=1, max_size=2, unique=True)
ORDERS: st.SearchStrategy[Order] = st.one_of(
    st.builds(Pause),
    st.builds(Resume),
    st.builds(More, number=st.integers(1, 5), models=st.just([]) | PAIRS, base=st.just({}) | st.just({"a vs b": 10})),
    st.builds(StopGroup, models=PAIRS),
    st.builds(ResumeGroup, models=PAIRS),
    st.builds(RetireModel, model=MODELS),
    st.builds(RestoreModel, model=MODELS),
)
CAPPED = Field([Group("a vs b", ("a", "b"), "", 10, most=17), AC, BC])


def state(steered: Steered) -> tuple[object, ...]:
    return steered.paused, dict(steered.wanted), dict(steered.stopped), set(steered.retired)


@settings(max_examples=150, deadline=None)
@given(st.lists(ORDERS, max_size=12))
def test_however_orders_come(given_orders: list[Order]) -> None:
    """Read once more they say the same (a launch reads all of them at every new one); one that was refused has changed
    nothing; nothing is wanted less than by the settings, or more than there is; a group is stopped or it is not."""
    steered = fold(given_orders, CAPPED)
    assert fold(given_orders, CAPPED) == steered
    assert [result.order_id for result in steered.results] == [order.order_id for order in given_orders]
    followed = [order for order, result in zip(given_orders, steered.results, strict=True) if result.done]
    assert state(fold(followed, CAPPED)) == state(steered)
    for group in CAPPED.groups:
        assert group.asked <= steered.wanted[group.label] <= (group.most or 1000)
    for model in steered.retired:
        assert all(group.label in steered.stopped for group in CAPPED.groups if model in group.models)
    for number in range(len(given_orders)):
        before = fold(given_orders[:number], CAPPED)
        assert before.results == steered.results[:number], "what a launch said of an order stays true of it"
