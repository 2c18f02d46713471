"""Texts and tasks that a study shows."""
