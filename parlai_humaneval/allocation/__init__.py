"""Chooses what each rater rates next."""
