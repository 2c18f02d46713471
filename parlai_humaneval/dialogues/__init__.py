"""Finished dialogues, and the readers of their files."""

PACKAGED = "packaged"  # An entry that stands for the samples of this project
