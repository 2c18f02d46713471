"""agents of parlai-humaneval."""
