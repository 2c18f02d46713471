"""May this visitor begin now? Rules in order, one list of them, and one place where a refusal is logged."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mephisto_tasks._util.compat import default_data_dir
from mephisto_tasks.admission.browsers import BrowserBook
from mephisto_tasks.admission.eligibility import BlockRule, Eligibility, EligibilityRule, PracticeRule, WorkRule
from mephisto_tasks.admission.identity import (
    CapacityRule,
    ConsentRule,
    CrowdRule,
    EntryRule,
    IdentityRule,
    OnePageRule,
    Reception,
)
from mephisto_tasks.admission.visits import ClaimPolicy, Refusal, Rule, Signer, StudyState, Visitor
from mephisto_tasks.storage.logs import REFUSALS, RefusalLine
from mephisto_tasks.storage.results import PSEUDONYM_KEY
from parlai_humaneval.materials.consent import Consent
from parlai_humaneval.schema.pseudonyms import Pseudonymizer

logger = logging.getLogger(__name__)


class Admission:
    """Asks rules in order; the first refusal counts. Thread-safe."""

    def __init__(
        self,
        rules: Sequence[Rule],
        data_dir: Path,
        task_name: str,
        close: Callable[[], None] = lambda: None,
        page_words: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.rules, self.close, self.page_words = list(rules), close, page_words
        self._data_dir, self._task_name = data_dir, task_name
        self._pseudonyms = Pseudonymizer.load_or_create(data_dir / PSEUDONYM_KEY)
        self._logged: set[tuple[str, str]] = set()

    def decide(self, visitor: Visitor) -> Refusal | None:
        """Why the visitor cannot go on from their stage; None: they can. Raises NotYetKnown, BookUnusable: not known
        now."""
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
    consent: Consent | None,
    claims: ClaimPolicy,
    signer: Signer | None = None,
    reception: Reception | None = None,
    most_units: int = 0,
    is_tryout: bool = False,
) -> Admission:
    """The admission of a launch, by rules in this order. ``most_units``: 0 means any number. ``is_tryout``: raters who
    fail the practice read how to try it again. Raises BookUnusable."""
    data_dir, task_name = eligibility.data_dir, eligibility.task_name
    where = [] if data_dir == default_data_dir() else ["--data-dir", str(data_dir)]
    of_task = shlex.join(["--task-name", task_name, *where]).replace("{", "{{").replace("}", "}}")
    reset = f"parlai-humaneval workers reset-practice {{pseudonym}} {of_task}" if is_tryout else ""
    book, agreed = BrowserBook(data_dir), ConsentRule(consent, data_dir, task_name)
    book.open()
    identity, capacity = IdentityRule(book, claims, signer, reception), CapacityRule(study)
    rules: list[Rule] = [
        identity,
        CrowdRule(reception),
        OnePageRule(),
        capacity,
        agreed,
        EntryRule(identity, capacity, reception),
        BlockRule(data_dir, task_name, study.config.block_qualification),
        PracticeRule(study, reset),
        EligibilityRule(eligibility, study),
        WorkRule(study, eligibility, most_units),
    ]
    return Admission(rules, data_dir, task_name, close=book.close, page_words=agreed.page_words())
