"""Preparations for importing Mephisto 1.1.1."""
