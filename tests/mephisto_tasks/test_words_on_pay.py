"""What raters read when we break something off promises pay where there is some, and says nothing of it elsewhere."""

from __future__ import annotations

import pytest

from mephisto_tasks.session.study import (
    AGAIN,
    AGAIN_OF_SEVERAL,
    AWAY,
    AWAY_FOR_GOOD,
    PAUSED,
    RETURNED,
    STOPPED,
    conversations,
    filled,
)


@pytest.mark.parametrize("text", [STOPPED[1], PAUSED[1], AGAIN, AGAIN_OF_SEVERAL])
def test_pay_is_promised_where_there_is_some(text: str) -> None:
    """Guards the sentence of a study of volunteers, which is the paid one without its promise."""
    paid, unpaid = (filled(text, conversations(3), is_paid=is_paid) for is_paid in (True, False))
    assert "paid" in paid
    assert "paid" not in unpaid
    assert unpaid.split(".")[-1] == paid.split(".")[-1]
    assert "{" not in paid + unpaid


@pytest.mark.parametrize("text", [AWAY[1], AWAY_FOR_GOOD[1], RETURNED[1]])
def test_who_left_reads_what_pay_will_do(text: str) -> None:
    """Guards the promise against the setting by which `pay` works it out; volunteers read of no pay."""
    said = {partial: filled(text, conversations(3), partial=partial) for partial in ("pro_rata", "full", "none")}
    assert "you are paid for the part that you completed" in said["pro_rata"]
    assert "you are paid for the whole set of 3 conversations" in said["full"]
    assert "paid" not in said["none"]
    assert filled(text, conversations(3), is_paid=False) == said["none"]
