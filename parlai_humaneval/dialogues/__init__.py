"""Finished dialogues, and the readers of their files."""
