"""Signed links for colleagues, annotators and classes: who is invited, what a link says, and who comes by it."""
