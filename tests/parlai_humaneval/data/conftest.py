"""What the checks of packaged words share."""

from __future__ import annotations

import re

import pytest


@pytest.fixture(scope="session")
def unfit() -> re.Pattern[str]:
    """Words that have no place in front of a rater: slurs, swearing, violence, sex, drugs."""
    return re.compile(
        r"\b(damn\w*|shit\w*|fuck\w*|bitch\w*|bastard\w*|crap\w*|asshole\w*|sexy?|porn\w*|slut\w*|whore\w*|nazi\w*|"
        r"stupid|idiots?|morons?|retard\w*|kill(?:s|ed|ing)?|suicid\w*|rap(?:e|ed|ist)|drugs?|cocaine|heroin|"
        r"hate you|shut up|ugly|hell)\b",
        re.IGNORECASE,
    )
