"""What the ordinary answers of a study that ends when it is decided say of themselves."""

from __future__ import annotations

from collections.abc import Mapping

from parlai_humaneval.report.conclusions import DECIDED
from parlai_humaneval.report.section import Section, Summary

Design = tuple[str, str, str]
"""Technique, setting, metric."""
TESTED_TOO = ("crowd_time",)
"""Sections that answer no question, and test models all the same."""


def labels_in(sections: Mapping[str, Section]) -> Mapping[Design, str]:
    """What was asked in studies that end when they are decided → what other sections say of their answers to it."""
    return {} if DECIDED not in sections else sections[DECIDED].labels()


def labelled(summary: Summary, sections: Mapping[str, Section]) -> Summary:
    """The summary; where its study ended when it was decided, that is its first remark."""
    label = labels_in(sections).get((summary.technique, summary.setting, summary.metric))
    if summary.section == DECIDED or label is None:
        return summary
    return summary.model_copy(update={"remarks": [label, *summary.remarks]})


def with_labels(sections: Mapping[str, Section]) -> dict[str, Section]:
    """The sections; each that estimates or tests something of such a study says so first."""
    labels = labels_in(sections)
    return {key: _labelled(key, section, labels) for key, section in sections.items()}


def _labelled(key: str, section: Section, labels: Mapping[Design, str]) -> Section:
    designs = [(answer.technique, answer.setting, answer.metric) for answer in section.summary()]
    found = dict.fromkeys(labels[design] for design in designs if design in labels)
    if labels and key in TESTED_TOO:
        found = dict.fromkeys(labels.values())
    if key == DECIDED or not found:
        return section
    return section.model_copy(update={"remarks": [*found, *section.remarks]})
