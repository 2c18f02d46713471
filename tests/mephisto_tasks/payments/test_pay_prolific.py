"""Paying on Prolific: everybody gets what they are owed, once, in their currency, whatever happens on the way."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pytest
from paying import as_json, pay
from prolific_study import Money, Remembered, everybody, got
from servers.prolific import StandIn
from turk_study import TASK

from mephisto_tasks.crowds.prolific import payer
from mephisto_tasks.payments.ledger import Ledger


@dataclass(frozen=True)
class Stage:
    data_dir: Path
    site: StandIn
    owed: Money
    before: Remembered


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Made once; :func:`stage` is a copy to pay from."""
    with StandIn() as site:
        data_dir = tmp_path_factory.mktemp("pay") / "data"
        site.market.delays.bonus_seen_s = 0.0
        owed = everybody(data_dir, site)
        site.market.pass_time()
        yield Stage(data_dir, site, owed, Remembered(site))


def at(site: StandIn, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This process asks the stand-in, and does not wait for long."""
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    for name, value in site.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(payer, "WAITS", payer.Waits(approved=5.0, listed=5.0, poll=0.1))
    monkeypatch.setattr(payer, "BUSY_PAUSES_S", (0.2, 0.2, 0.2))
    delays = site.market.delays
    delays.approve_s = delays.pay_s = delays.bonus_seen_s = 0.1


@pytest.fixture
def stage(first: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """Nobody has been paid but by hand."""
    first.before.again()
    at(first.site, tmp_path, monkeypatch)
    return Stage(Path(shutil.copytree(first.data_dir, tmp_path / "data")), first.site, first.owed, first.before)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    with StandIn() as server:
        at(server, tmp_path, monkeypatch)
        yield server


def charged(site: StandIn) -> dict[str, Decimal]:
    """Currency → what participants were paid in all."""
    totals: dict[str, Decimal] = {}
    for (currency, _), amount in got(site).items():
        totals[currency] = totals.get(currency, Decimal(0)) + amount
    return totals


def test_everybody_gets_what_they_are_owed(stage: Stage) -> None:
    looked = as_json(stage.data_dir)
    assert not Ledger(stage.data_dir, TASK).path.exists()
    assert looked["currencies"] == ["GBP", "USD"]
    assert looked["fees"] is None, "there is no sum of pounds and dollars"
    print(pay(stage.data_dir).stdout)
    sent = pay(stage.data_dir, "--send", "--yes")
    print(sent.output)
    assert got(stage.site) == stage.owed
    ledger = as_json(stage.data_dir)["ledger"]
    assert {payment["state"] for payment in ledger} == {"confirmed"}
    audit = pay(stage.data_dir, "--audit")
    print(audit.output)
    assert audit.exit_code == 0
