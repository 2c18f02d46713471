"""A launch's collector passes over what was loaded, and Python's is as before afterwards."""

from __future__ import annotations

import gc

from mephisto_tasks._util.gc import only_new_garbage


class _Thing:
    """Something that the collector looks after."""


def test_what_was_there_before_is_not_searched_and_what_comes_is() -> None:
    gc.unfreeze()  # what tests begin with: a launch begins with nothing
    before, thresholds, old = gc.get_freeze_count(), gc.get_threshold(), _Thing()
    with only_new_garbage():
        new = _Thing()
        searched = {id(each) for each in gc.get_objects()}
        assert id(old) not in searched
        assert id(new) in searched
        assert gc.get_threshold() != thresholds
    assert gc.get_freeze_count() == before
    assert gc.get_threshold() == thresholds
