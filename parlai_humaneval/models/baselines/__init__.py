"""Small models: the degraded bot, retrieval, ELIZA, and the trained baselines of the papers."""
