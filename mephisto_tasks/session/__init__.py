"""The work of a rater, in both engines."""
