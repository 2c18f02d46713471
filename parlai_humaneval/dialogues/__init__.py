"""Finished dialogues, and where they are read from."""
