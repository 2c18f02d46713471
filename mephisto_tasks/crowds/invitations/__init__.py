"""Raters who are invited by link."""
