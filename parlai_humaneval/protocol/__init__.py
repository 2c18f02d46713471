"""protocol of parlai-humaneval."""
