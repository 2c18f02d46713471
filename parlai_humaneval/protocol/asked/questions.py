"""The wordings of what raters are asked, by technique. Those about finished dialogues stand in :mod:`.judging_questions`,
those of scales in :mod:`.criteria` and :mod:`.dimensions`.

Sources: Smith et al. 2022, §3.1.2 (PW-Turn), adapted there from Li et al. 2019 (Acute-Eval), word for word; for SM-Turn
“Please answer the following:”, from the code that they published (ParlAI's single_model_eval), with what ticking means
added to it. Liu et al. 2023 (“Pairwise-Model Evaluation”), Ma et al. 2023 (§2.1, §3.2) and Ji et al. 2022 (§3.1) describe
their questions; the sentences here keep their words (prefer, appropriate, most appropriate to continue, better, agree).
They fit two replies as well as more.
"""

from __future__ import annotations

from parlai_humaneval.protocol.asked.judging_questions import DIMENSIONS_QUESTION, PW_DIALOG_QUESTIONS, RANK_QUESTION

PW_TURN_QUESTIONS: dict[str, str] = {
    "preference": "Which next response from your partner would you prefer in a long conversation?",
    "humanness": "Which next response from your partner sounds more human?",
    "interestingness": (
        "If you had to say one of these responses is interesting and one is boring, "
        "which would you say is more interesting?"
    ),
}
SELECT_ALL = (
    "Select all responses from your partner that you think are appropriate. That can be none of them, some, or all."
)

QUESTIONS: dict[str, dict[str, str]] = {
    "pw_turn": PW_TURN_QUESTIONS,
    "sata/soba": {
        "appropriate": "Which response from your partner do you prefer? Select the best one, even if none is good."
    },
    "sata/sata_random": {"appropriate": SELECT_ALL},
    "sata/sata_user": {"appropriate": SELECT_ALL},
    "single_model": {
        "quality": "Please answer the following: tick each question about this response that you answer with yes.",
        "appropriate": "Is this response from your partner appropriate?",
    },
    "free_for_all": {"appropriate": "Which response is most appropriate to continue the conversation?"},
    "free_for_all/many": {
        "appropriate": "Which responses are appropriate to continue the conversation? Select all of them."
    },
    "arena": {"better": "Which partner is better?"},
    "direct_assessment": {
        "quality": "How much do you agree with each statement about the conversation that you just had?",
    },
    "pw_dialog": PW_DIALOG_QUESTIONS,
    "third_party": {"rank": RANK_QUESTION, "dimensions": DIMENSIONS_QUESTION},
}
"""technique, or technique/setting, → metric → question."""


def question_for(technique: str, metric: str, setting: str = "") -> str:
    """The question of a technique's metric.

    Raises:
        ValueError: naming the techniques, or the metrics that the technique has.
    """
    metrics = QUESTIONS.get(f"{technique}/{setting}") or QUESTIONS.get(technique)
    if metrics is None:
        known = ", ".join(sorted({name.partition("/")[0] for name in QUESTIONS}))
        raise ValueError(f"unknown technique {technique!r} {setting}".rstrip() + f"; known: {known}")
    if metric not in metrics:
        raise ValueError(f"{technique} has no metric {metric!r}; choose one of: {', '.join(metrics)}")
    return metrics[metric]
