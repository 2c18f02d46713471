"""Which answers count, and what raters must not see: checks on raters, exclusions, and give-aways of models.

``CHECKS`` (name → check) · ``default_checks`` (of a technique's paper) · ``check_dialogue``, ``check_workers``,
``checked`` (verdicts) · ``exclude``, ``exclude_everywhere`` (records → those kept, and why the others are not).
"""

from parlai_humaneval.quality.registry import (
    CHECKS,
    JUDGEMENT_CHECKS,
    Check,
    CheckCount,
    CheckError,
    Exclusions,
    Failure,
    Verdict,
    check_dialogue,
    check_workers,
    checked,
    default_checks,
    exclude,
    exclude_everywhere,
    known_checks,
    needs_all_records,
)

__all__ = [
    "CHECKS",
    "JUDGEMENT_CHECKS",
    "Check",
    "CheckCount",
    "CheckError",
    "Exclusions",
    "Failure",
    "Verdict",
    "check_dialogue",
    "check_workers",
    "checked",
    "default_checks",
    "exclude",
    "exclude_everywhere",
    "known_checks",
    "needs_all_records",
]
