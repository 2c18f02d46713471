"""Documents without their drawings, for tests of what stands in words and numbers: matplotlib takes longer than all else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

NOTHING_DRAWN = b'<svg xmlns="http://www.w3.org/2000/svg"/>'


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each figure is an empty picture; what is drawn is guarded by ``test_document_figures`` and ``test_document_html``."""
    _draw_nothing(monkeypatch)


@pytest.fixture(scope="module")
def all_undrawn() -> Iterator[None]:
    """The same for all tests of a module."""
    with pytest.MonkeyPatch.context() as patch:
        _draw_nothing(patch)
        yield


def _draw_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("parlai_humaneval.report.render.figures._drawn", lambda *figure: NOTHING_DRAWN)
