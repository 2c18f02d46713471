"""Finished dialogues, and the readers of their files."""

PACKAGED = "packaged"  # the entry for the samples of this project
