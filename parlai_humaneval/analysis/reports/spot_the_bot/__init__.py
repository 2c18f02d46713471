"""Spot The Bot: who passes for a person, and for how long."""
