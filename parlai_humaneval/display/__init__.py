"""The parts of a reply that a rater may see."""
