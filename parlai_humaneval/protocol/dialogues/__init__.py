"""Finished dialogues: where they come from, and what raters are shown of them."""
