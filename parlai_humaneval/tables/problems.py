"""Ticks that say what is wrong with a reply, so that fewer is better: told by their names, where nothing else tells."""

from __future__ import annotations

import re

_PROBLEM = re.compile(
    # ParlAI calls its buckets of problems so where nobody names them.
    r"bucket_\d+"
    r"|(\w+_)?(contradict\w*|inconsisten\w*|incoheren\w*|incorrect|irrelevan\w*|misinformation|hallucinat\w*|problems?)"
    r"|(non_?sens\w*|repetit\w*|repeat\w*|redundan\w*|robotic|bias\w*|toxic\w*|offensive|unsafe|rude|wrong|bad|boring)"
    r"|off_topic|generic|ignor\w*|disfluen\w*|non_fluent|ungrammatical|lack_of_\w+|lacks_\w+|not_\w+"
)
_GOOD = re.compile(
    r"engag\w*|human_?(like|ness)?|interesting\w*|appropriate|consisten\w*|coheren\w*|fluen\w*|fun|good|natural\w*"
    r"|sensib\w*|makes_sense|specific\w*|relevan\w*|on_topic|(factually_)?correct|factual|informative\w*"
    r"|knowledgeable|empath\w*|helpful\w*|polite\w*|safe"
)


def is_problem(name: str, *, otherwise: bool = False) -> bool:
    """Whether what is ticked under ``name`` is a problem of a reply. ``otherwise``: of names that are not known."""
    plain = re.sub(r"[\s-]+", "_", name.strip().lower())
    return _PROBLEM.fullmatch(plain) is not None or (otherwise and _GOOD.fullmatch(plain) is None)
