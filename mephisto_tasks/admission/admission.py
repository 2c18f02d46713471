"""May this visitor begin now? Rules in order, one list of them, and one place where a refusal is logged."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from mephisto_tasks.admission.browsers import BrowserBook
from mephisto_tasks.admission.capacity import CapacityRule, OnePageRule
from mephisto_tasks.admission.consent import ConsentRule
from mephisto_tasks.admission.eligibility import BlockRule, Eligibility, EligibilityRule
from mephisto_tasks.admission.identity import CrowdRule, EntryRule, IdentityRule, Reception
from mephisto_tasks.admission.refusal import Refusal, Rule, StudyState, Visitor
from mephisto_tasks.admission.visits import ClaimPolicy, Signer
from mephisto_tasks.admission.work import PracticeRule, WorkRule
from mephisto_tasks.control.presence import Presence
from mephisto_tasks.storage.logs import REFUSALS, RefusalLine
from mephisto_tasks.storage.results import PSEUDONYM_KEY
from parlai_humaneval.schema.pseudonyms import Pseudonymizer

logger = logging.getLogger(__name__)


class Admission:
    """Asks rules in order; the first refusal counts. Thread-safe.

    Args:
        rules: in order.
        data_dir: of the launch.
        task_name: of the launch.
    """

    def __init__(self, rules: Sequence[Rule], data_dir: Path, task_name: str) -> None:
        self.rules = list(rules)
        self._data_dir, self._task_name = data_dir, task_name
        self._pseudonyms = Pseudonymizer.load_or_create(data_dir / PSEUDONYM_KEY)
        self._logged: set[tuple[str, str]] = set()

    def decide(self, visitor: Visitor) -> Refusal | None:
        """Why the visitor cannot go on from the stage in which they are; None: they can.

        Raises NotYetKnown or BookUnusable where that cannot be said now.
        """
        for rule in self.rules:
            if visitor.stage not in rule.stages:
                continue
            if visitor.worker is not None:
                visitor.pseudonym = self._pseudonyms.worker(str(visitor.worker.worker_name))
            elif visitor.stage == "looks":  # nothing is known of them
                return None
            if (refusal := rule.refusal(visitor)) is not None:
                if visitor.stage == "looks" and refusal.passes:
                    return None  # they may read what the task is meanwhile
                if visitor.worker is not None:
                    self._log(visitor, refusal)
                return refusal
        return None

    def _log(self, visitor: Visitor, refusal: Refusal) -> None:
        """Write the truth down, once for each worker and reason."""
        logger.info("worker %s is turned away: %s", visitor.pseudonym, refusal.why)
        if (visitor.pseudonym, refusal.kind) not in self._logged:
            self._logged.add((visitor.pseudonym, refusal.kind))
            line = RefusalLine(worker=visitor.pseudonym, kind=refusal.kind, why=refusal.why)
            REFUSALS.append(self._data_dir, line, task=self._task_name)


def study_admission(
    study: StudyState,
    eligibility: Eligibility,
    consent: ConsentRule,
    presence: Presence,
    book: BrowserBook,
    claims: ClaimPolicy,
    signer: Signer | None = None,
    reception: Reception | None = None,
    most_units: int = 0,
) -> Admission:
    """The admission of a launch. This list is the order in which reasons are looked for.

    ``most_units``: complete units that Mephisto itself lets a worker do; 0: any number.
    """
    data_dir, task_name = eligibility.data_dir, eligibility.task_name
    identity, capacity = IdentityRule(book, claims, signer, reception), CapacityRule(study, presence)
    rules: list[Rule] = [
        identity,
        CrowdRule(reception),
        OnePageRule(),
        capacity,
        consent,
        EntryRule(identity, capacity, reception),
        BlockRule(data_dir, task_name, study.config.block_qualification),
        PracticeRule(study),
        EligibilityRule(eligibility, study),
        WorkRule(study, eligibility, most_units),
    ]
    return Admission(rules, data_dir, task_name)
