"""What is changed about Mephisto as it is imported stays with Mephisto."""

from __future__ import annotations

import dataclasses

from mephisto_tasks._util import compat


def test_classes_of_other_packages_are_made_as_they_ask() -> None:
    """Guards whatever is imported along with Mephisto: its classes get no hash that they did not ask for."""
    before = dataclasses.dataclass
    with compat._patched_dataclasses():

        @dataclasses.dataclass
        class Other:
            name: str = ""

        assert Other.__hash__ is None
    assert dataclasses.dataclass is before
