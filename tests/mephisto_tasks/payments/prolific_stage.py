"""Everybody of :mod:`prolific_study` to be paid on the stand-in of Prolific, in this process and without long waits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from paying import pay
from prolific_study import Money, Remembered
from servers.prolific import StandIn

from mephisto_tasks.crowds.prolific import payer
from mephisto_tasks.crowds.prolific.client import Patience, Prolific


@dataclass(frozen=True)
class Stage:
    data_dir: Path
    site: StandIn
    owed: Money
    before: Remembered


def at(site: StandIn, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This process asks the stand-in, and does not wait for long."""
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    for name, value in site.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(payer, "WAITS", payer.Waits(approved=2.0, listed=1.0, poll=0.05))
    monkeypatch.setattr(payer, "BUSY_PAUSES_S", (0.2, 0.2, 0.2))
    monkeypatch.setattr(payer, "Prolific", partial(Prolific, patience=Patience(pause_s=0.01)))
    delays = site.market.delays
    delays.approve_s = delays.pay_s = delays.bonus_seen_s = 0.05


def send(data_dir: Path) -> str:
    """What is printed."""
    return " ".join(pay(data_dir, "--send", "--yes").output.split())
