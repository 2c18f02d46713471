"""What a rater may see of a reply."""
