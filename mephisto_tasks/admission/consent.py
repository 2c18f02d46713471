"""Nobody is registered before they agreed to the study's consent text, as it is now; of refusals nothing is kept."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, ClassVar

from mephisto_tasks.admission.refusal import Refusal, Rule, Stage, Visitor
from mephisto_tasks.storage.logs import CONSENTS, Agreement, keep_text
from mephisto_tasks.storage.provider_names import stored_names
from mephisto_tasks.storage.results import PSEUDONYM_KEY
from parlai_humaneval.i18n.translate import phrase
from parlai_humaneval.materials.consent import Consent
from parlai_humaneval.schema.pseudonyms import Pseudonymizer

CONSENT = "consent"
"""In a registration: the version and digest that somebody agrees to. In its answer: the text that they are asked to read."""
AGREED = "agreed_to_consent"
"""In what Mephisto passes on of a registration, where somebody has just agreed."""
WORDS = phrase("Please read this, and say whether you agree. Nothing about you is stored before you do.")


class ConsentRule(Rule):
    """The consent text of a launch, and who agreed to it. Without a text nobody is asked anything.

    Comes before anything is kept of a visitor. Who has just agreed is written down when the database has their name.
    """

    stages: ClassVar[tuple[Stage, ...]] = ("arrives", "registers")

    def __init__(self, consent: Consent | None, data_dir: Path, task_name: str) -> None:
        self._consent = consent
        self._data_dir, self._task_name = data_dir, task_name
        self._lock = threading.Lock()
        self._versions: dict[str, str] = {}
        """Pseudonym → the version that they agreed to last."""
        self._agreed: set[str] = set()
        if consent is None:
            return
        self._pseudonyms = Pseudonymizer.load_or_create(data_dir / PSEUDONYM_KEY)
        keep_text(data_dir, task_name, consent)
        for line in CONSENTS.read(data_dir, task_name):
            self._versions[line.worker] = line.version
            if line.digest == consent.digest:
                self._agreed.add(line.worker)

    def page_words(self) -> dict[str, Any]:
        """What every page is told."""
        return {} if self._consent is None else {"consent_form": self._consent.for_page()}

    def refusal(self, visitor: Visitor) -> Refusal | None:
        if self._consent is None or visitor.at_work:
            return None
        if visitor.stage == "registers":
            if visitor.data.get(AGREED):
                self._note(visitor.pseudonym, self._consent)
            return None
        visitor.agreed = visitor.agrees_to == {"version": self._consent.version, "digest": self._consent.digest}
        return None if visitor.agreed else self._ask(visitor.worker_name, self._consent)

    def _ask(self, worker_name: str, consent: Consent) -> Refusal | None:
        """What somebody must agree to first; None: they did before."""
        names = [self._pseudonyms.worker(name) for name in stored_names(worker_name)]
        with self._lock:
            if not self._agreed.isdisjoint(names):
                return None
            before = next((self._versions[name] for name in names if name in self._versions), None)
        form = {**consent.for_page(), "agreed_before": before}
        return Refusal(CONSENT, "is asked to agree", WORDS, title=consent.title, turns_away=False, more={CONSENT: form})

    def _note(self, pseudonym: str, consent: Consent) -> None:
        with self._lock:
            if pseudonym in self._agreed:
                return
            agreement = Agreement(worker=pseudonym, version=consent.version, digest=consent.digest)
            CONSENTS.append(self._data_dir, agreement, task=self._task_name)
            self._agreed.add(pseudonym)
            self._versions[pseudonym] = agreement.version
