"""Free-for-all (Ma et al. 2023, FFAEval): every model answers every message, and the best reply gets the point."""
