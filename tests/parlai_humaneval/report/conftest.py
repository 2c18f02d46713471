"""Documents without their drawings, for tests of what stands in words and numbers: matplotlib takes longer than all else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from parlai_humaneval.report.render import figures

NOTHING_DRAWN = b'<svg xmlns="http://www.w3.org/2000/svg"/>'


@pytest.fixture(scope="session", autouse=True)
def drawn_once() -> Iterator[None]:
    """The same figure in the same colours and format is drawn once for all tests, many of which show one document."""
    draw, drawn = figures._drawn, dict[str, bytes]()

    def kept(*figure: Any) -> bytes:
        if (asked := repr(figure)) not in drawn:
            drawn[asked] = draw(*figure)
        return drawn[asked]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "_drawn", kept)
        yield


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
