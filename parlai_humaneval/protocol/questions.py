"""The exact wordings of what raters are asked.

Source: Smith et al. 2022, §3.1.2 (PW-Turn), adapted there from Li et al. 2019 (Acute-Eval).
"""

from __future__ import annotations

PW_TURN_QUESTIONS: dict[str, str] = {
    "preference": "Which next response from your partner would you prefer in a long conversation?",
    "humanness": "Which next response from your partner sounds more human?",
    "interestingness": (
        "If you had to say one of these responses is interesting and one is boring, "
        "which would you say is more interesting?"
    ),
}

QUESTIONS: dict[str, dict[str, str]] = {"pw_turn": PW_TURN_QUESTIONS}
"""technique → metric → question."""


def question_for(technique: str, metric: str) -> str:
    """The question of a technique's metric.

    Raises:
        ValueError: naming the metrics that the technique has.
    """
    try:
        metrics = QUESTIONS[technique]
    except KeyError:
        raise ValueError(f"unknown technique {technique!r}; known: {', '.join(sorted(QUESTIONS))}") from None
    if metric not in metrics:
        raise ValueError(f"{technique} has no metric {metric!r}; choose one of: {', '.join(metrics)}")
    return metrics[metric]
