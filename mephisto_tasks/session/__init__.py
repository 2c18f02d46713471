"""A rater at work, in either engine."""
