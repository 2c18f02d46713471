"""Turns settings into a running study, and ends it cleanly."""
