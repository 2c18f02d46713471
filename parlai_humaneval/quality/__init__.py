"""quality of parlai-humaneval."""
