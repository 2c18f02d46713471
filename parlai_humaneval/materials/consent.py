"""Consent texts, which raters agree to before they take part. Texts have versions, and each agreement is kept."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field, StringConstraints, field_validator

from parlai_humaneval._util.data_files import Sentence, read_yaml, validated
from parlai_humaneval.i18n.translate import phrase

Version = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=60, pattern=r"^[\w. +:-]+$")]

EXAMPLES_ADDRESS = "you@example.org"


class ConsentSection(BaseModel, extra="forbid"):
    """A paragraph or a list, with or without a heading."""

    heading: str = ""
    lines: Annotated[list[Sentence], Field(min_length=1)]


class Consent(BaseModel, extra="forbid"):
    """A consent text. When its words change, give it a new version; then everybody is asked again. ``text``,
    ``privacy``: what the study does, and what happens to what people write; paragraphs, or headed lists.
    ``covers_release``: whether the text says that answers may be published without names. ``changes``: what is new in
    this version, for raters who agreed to an earlier one."""

    version: Version
    title: Sentence = phrase("Before you begin")
    text: Annotated[list[ConsentSection], Field(min_length=1)]
    privacy: list[ConsentSection] = Field(default_factory=list)
    agree: Sentence = phrase("I agree")
    decline: Sentence = phrase("I do not want to take part")
    contact: Sentence
    covers_release: bool
    changes: str = ""

    @field_validator("version", mode="before")
    @classmethod
    def _as_text(cls, value: object) -> object:
        """YAML reads 1.2 as a number, and 2026-11-01 as a date."""
        return value if isinstance(value, (str, bool)) else str(value)

    @field_validator("text", "privacy", mode="before")
    @classmethod
    def _headed(cls, value: object) -> object:
        paragraphs = [part for part in value.split("\n\n") if part.strip()] if isinstance(value, str) else value
        if not isinstance(paragraphs, list):
            return paragraphs
        parts = (" ".join(part.split()) if isinstance(part, str) else part for part in paragraphs)
        return [{"heading": "", "lines": [part]} if isinstance(part, str) else part for part in parts]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the whole text, which distinguishes two texts with the same version."""
        return hashlib.sha256(json.dumps(self.model_dump(), sort_keys=True).encode()).hexdigest()

    @property
    def has_no_contact_yet(self) -> bool:
        """Whether the address is still the example's."""
        return EXAMPLES_ADDRESS in self.contact

    def for_page(self) -> dict[str, object]:
        """The form on the page."""
        public = self.model_dump(mode="json", exclude={"covers_release"})
        return {**public, "digest": self.digest}


def load_consent(path: Path) -> Consent:
    """A consent text from YAML. Raises DataError."""
    return validated(Consent, read_yaml(path), path)
