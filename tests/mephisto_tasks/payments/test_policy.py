"""What is owed: whole cents, never more than the reward, never less than nothing; checks withhold nothing by themselves."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paying import as_json
from stored_study import StoredStudy
from test_work import set_status
from turk_study import TASK, part, whole

from mephisto_tasks.payments.ledger import Ledger, Payment, token_of
from mephisto_tasks.payments.policy import PayError, Policy, Terms
from mephisto_tasks.payments.statement import due, hourly, pro_rata
from mephisto_tasks.storage.work import Outcome, Work

REWARDS = st.integers(0, 100_000).map(lambda cents: Decimal(cents) / 100)
PARTS = st.integers(0, 200)


def work(outcome: Outcome = "partial", reward: str = "2.50", done: int = 1, whole: int = 3) -> Work:
    return Work(
        worker="w1", worker_id="1", session="s", outcome=outcome, begun=0, ended=60, seconds=60,
        done=done, whole=whole, counted="turns", reward=Decimal(reward),
    )  # fmt: skip


@given(reward=REWARDS, done=PARTS, whole=PARTS)
def test_a_share_is_between_nothing_and_the_whole(reward: Decimal, done: int, whole: int) -> None:
    """In whole cents, at least what was earned, and less than a cent above it."""
    share = pro_rata(reward, done, whole)
    assert Decimal(0) <= share <= reward
    assert share == share.quantize(Decimal("0.01"))
    if whole and done <= whole:
        assert 0 <= share * whole - reward * done < Decimal("0.01") * whole


@given(reward=REWARDS, done=PARTS, more=PARTS, whole=PARTS)
def test_who_does_more_is_never_paid_less(reward: Decimal, done: int, more: int, whole: int) -> None:
    assert pro_rata(reward, done, whole) <= pro_rata(reward, done + more, whole)
    if whole:
        assert pro_rata(reward, whole, whole) == reward


@given(reward=REWARDS, parts=st.lists(PARTS, max_size=20), whole=PARTS)
def test_sums_add_up(reward: Decimal, parts: list[int], whole: int) -> None:
    """The cents of the parts are the cents of the sum: nothing is lost to binary fractions."""
    shares = [pro_rata(reward, done, whole) for done in parts]
    assert sum(shares, Decimal(0)) * 100 == sum(int(share * 100) for share in shares)


@settings(max_examples=20)
@given(cents=st.lists(st.integers(0, 10_000_000), min_size=1, max_size=5, unique=True))
def test_the_ledger_keeps_cents(tmp_path_factory: pytest.TempPathFactory, cents: list[int]) -> None:
    ledger = Ledger(tmp_path_factory.mktemp("ledger"), TASK)
    ledger.intend(payment(str(number), Decimal(number) / 100) for number in cents)
    assert [int(kept.amount * 100) for kept in ledger.payments()] == cents


def payment(session: str, amount: Decimal) -> Payment:
    return Payment(
        token=token_of("bonus", "mturk:lab", "A", "1", session, 0), account="mturk:lab", kind="bonus", worker="w1",
        worker_id="1", session=session, agent_id="1", assignment="A", amount=amount, why="",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("outcome", "policy", "amount"),
    [
        ("complete", "none", "2.50"),
        ("stopped", "none", "2.50"),
        ("partial", "pro_rata", "0.84"),
        ("partial", "full", "2.50"),
        ("partial", "none", "0.00"),
        ("continued", "full", "0.00"),
        ("running", "full", "0.00"),
        ("practice_only", "full", "0.25"),
    ],
)
def test_what_is_owed(outcome: Outcome, policy: Policy, amount: str) -> None:
    terms = Terms(partial=policy, practice=Decimal("0.25"))
    assert str(due(work(outcome), terms, {}).amount) == amount


def test_who_can_go_on_is_paid_when_the_launch_has_ended() -> None:
    """A share now, and the whole for the rest later, would pay the share twice."""
    left = work().model_copy(update={"resumable": True})
    assert due(left, Terms(), {}).amount == 0


def test_withheld_only_where_asked_and_never_where_we_stopped() -> None:
    failed = {("w1", "s"): "capitals"}
    assert due(work("complete"), Terms(), failed).amount == 0
    assert due(work("complete"), Terms(), failed).why == "withheld: failed capitals"
    assert due(work("stopped"), Terms(), failed).amount == Decimal("2.50")


@pytest.mark.parametrize("reward", ["-0.01", "1000.01", "100000"])
def test_a_reward_that_cannot_be_meant(reward: str) -> None:
    with pytest.raises(PayError, match=f"{abs(Decimal(reward)):,.2f}"):
        due(work("complete", reward), Terms(), {})


def test_an_hour_is_not_rounded_up_and_not_told_from_seconds() -> None:
    assert str(hourly(Decimal("1.00"), 1801.0)) == "1.99"
    assert [hourly(Decimal("1.00"), seconds) for seconds in (0.0, 4.0, 29.9)] == [None, None, None]


def test_a_check_withholds_by_its_name(tmp_path: Path) -> None:
    """Who picks the same place all the time is paid; with the check named, not for that work. Ji et al. 2022, App. A.2."""
    study = StoredStudy(tmp_path / "data", reward=1.0)
    study.add(TASK, "ann", whole("a", 6))
    study.add(TASK, "bob", part("b", 2, 6))
    set_status(study.data_dir, "disconnect")
    assert [line["due"] for line in as_json(study.data_dir)["workers"]] == ["1.00", "0.34"]
    asked = as_json(study.data_dir, "--withhold-failed", "same_position")
    assert asked["workers"][0]["due"] == "0.00"
    assert asked["workers"][0]["complete"] == 1
