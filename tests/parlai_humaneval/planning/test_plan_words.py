"""The sentences of plans and of studies that stop when decided."""

from __future__ import annotations

from parlai_humaneval.planning.inputs import paragraphs


def test_what_is_filled_in_stays_as_it_is() -> None:
    """Guards that only the template's own text is folded: what a user named keeps its blanks and lines."""
    (said,) = paragraphs("switch", switched=True, many_discordance="a  b\n\nc", two_discordance=1)
    assert "a discordance of a  b\n\nc, which is that of four similar models" in said
    assert "  " not in said.replace("a  b", "")
    assert paragraphs("switch", switched=False, many_discordance=0, two_discordance=0) == ()
