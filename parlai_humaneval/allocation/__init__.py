"""Chooses what each rater rates next."""

from typing import Literal

Pairing = Literal["auto", "same_start", "any", "given"]
"""Which dialogues are compared: those of the same start, all with all, or those that a file of pairs puts together. auto:
as given, else of the same start, where every dialogue has such a partner and there are enough, else all with all."""
