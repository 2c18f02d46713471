"""Strengths and ranks: Bradley–Terry, Plackett–Luce, TrueSkill, best sets."""
