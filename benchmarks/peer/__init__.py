"""ParlAI's pairwise per-turn task and Mephisto's router, run as they are from a copy."""
