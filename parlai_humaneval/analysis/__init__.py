"""analysis of parlai-humaneval."""
