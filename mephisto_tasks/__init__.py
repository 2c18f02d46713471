"""Mephisto crowd tasks of parlai-humaneval."""
