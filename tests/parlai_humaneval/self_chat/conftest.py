"""Scripted models for the tests of self-chats."""

from __future__ import annotations

import pytest
from make_talkers import Talkers


@pytest.fixture
def talkers(monkeypatch: pytest.MonkeyPatch) -> Talkers:
    return Talkers(monkeypatch)
