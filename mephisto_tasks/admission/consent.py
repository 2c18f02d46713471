"""Nobody is registered before they agreed to the study's consent text, as it is now; of who says no, nothing is kept."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mephisto_tasks.admission.eligibility import Refusal
from mephisto_tasks.storage.logs import CONSENTS, Agreement, keep_text
from mephisto_tasks.storage.results import PSEUDONYM_KEY
from parlai_humaneval.i18n.translate import phrase
from parlai_humaneval.materials.consent import Consent
from parlai_humaneval.schema.pseudonyms import Pseudonymizer

CONSENT = "consent"
"""In a registration: the version and digest that somebody agrees to. In its answer: the text that they are asked to read."""
AGREED = "agreed_to_consent"
"""In what Mephisto passes on of a registration, where somebody has just agreed."""
WORDS = phrase("Please read this, and say whether you agree. Nothing about you is stored before you do.")


class Consents:
    """The consent text of a launch, and who agreed to it. Thread-safe. Without a text nobody is asked anything."""

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

    def says_yes(self, sent: object) -> bool:
        """Whether what a page sent agrees to the text as it is now."""
        return self._consent is not None and sent == {"version": self._consent.version, "digest": self._consent.digest}

    def asks(self, names: Iterable[str], sent: object) -> Refusal | None:
        """What somebody must agree to first; None: they do, or did before. ``names``: those that they may have here."""
        if self._consent is None or self.says_yes(sent):
            return None
        mine = [self._pseudonyms.worker(name) for name in names]
        with self._lock:
            if not self._agreed.isdisjoint(mine):
                return None
            before = next((self._versions[name] for name in mine if name in self._versions), None)
        form = {**self._consent.for_page(), "agreed_before": before}
        return Refusal(CONSENT, "is asked to agree", WORDS, title=self._consent.title, more={CONSENT: form})

    def note(self, worker_name: str) -> None:
        """Write down that a worker agreed to the text as it is now."""
        assert self._consent is not None, "nobody agrees where nobody is asked"
        name = self._pseudonyms.worker(worker_name)
        with self._lock:
            if name in self._agreed:
                return
            agreement = Agreement(worker=name, version=self._consent.version, digest=self._consent.digest)
            CONSENTS.append(self._data_dir, agreement, task=self._task_name)
            self._agreed.add(name)
            self._versions[name] = agreement.version
