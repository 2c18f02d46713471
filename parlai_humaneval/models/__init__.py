"""models of parlai-humaneval."""
