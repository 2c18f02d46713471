"""Whether everybody whose answers are released agreed to that, by the consent texts of the studies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from mephisto_tasks.stored.consents import agreements, text_of
from mephisto_tasks.stored.results import ResultsError, task_names
from parlai_humaneval.protocol.materials.consent import Consent
from parlai_humaneval.protocol.records.judgement import JudgementRecord, Rated


class ReleaseError(ResultsError):
    """Answers that may not be released so; the message says why, and what to do."""


@dataclass(frozen=True)
class Agreed:
    """``texts``: those that people agreed to, and how many did. ``uncovered``: pseudonyms of who agreed to no release."""

    texts: list[tuple[Consent, int]]
    uncovered: list[str]


def people_of(records: Sequence[Rated]) -> set[str]:
    """Pseudonyms of the people in whose words or answers ``records`` consist: raters, and whose dialogues were judged."""
    judged = {
        shown.replayed.worker
        for record in records
        if isinstance(record, JudgementRecord)
        for shown in record.dialogues
        if shown.replayed is not None and shown.replayed.worker
    }
    return {record.worker for record in records if not record.simulated} | judged


def agreed(data_dir: Path, tasks: Collection[str], people: Collection[str]) -> Agreed:
    """What each of these people agreed to: in one of the tasks, or, whose dialogues were judged there, in another."""
    agreed_to: dict[str, set[str]] = defaultdict(set)
    texts: dict[str, Consent] = {}
    covered: set[str] = set()
    for task in dict.fromkeys([*tasks, *task_names(data_dir)]):
        of_task = {(line.worker, line.digest) for line in agreements(data_dir, task) if line.worker in people}
        for worker, digest in of_task:
            text = text_of(data_dir, task, digest)
            if text is None:
                continue
            if task in tasks or worker not in covered:
                agreed_to[digest].add(worker)
                texts[digest] = text
            if text.covers_release:
                covered.add(worker)
    return Agreed([(text, len(agreed_to[digest])) for digest, text in texts.items()], sorted(set(people) - covered))


def check_covered(found: Agreed, people: Collection[str], without_text: str) -> None:
    """Nothing is released that somebody did not agree to.

    Args:
        found: what they agreed to.
        people: all of them.
        without_text: why it may be released although no text is stored here; empty: nobody says so.

    Raises:
        ReleaseError: the message says what to do.
    """
    if not found.uncovered or (not found.texts and without_text.strip()):
        return
    if not found.texts:
        raise ReleaseError(
            "no consent text is stored with these answers, so that nothing here says that they may be published. If people "
            'agreed elsewhere (on paper, at the panel), say how: --without-consent-text "Signed forms, ethics board 12/26"; '
            "it stands in the data card. For a next study: consent_file=…"
        )
    raise ReleaseError(
        f"{len(found.uncovered)} of {len(people)} people never agreed to a text that says that answers may be published "
        f"(covers_release): {', '.join(found.uncovered[:5])}{' …' if len(found.uncovered) > 5 else ''}. Nothing was "
        "written. Leave them out (--only-who-agreed), or ask them: a new version of the text with covers_release: true asks "
        "everybody who comes again"
    )
