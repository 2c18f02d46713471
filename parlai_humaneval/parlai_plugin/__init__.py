"""Everything that patches ParlAI or registers with it."""
