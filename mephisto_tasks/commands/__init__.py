"""Commands of parlai-humaneval that need Mephisto."""
