"""A rater at work, whichever engine it is."""
