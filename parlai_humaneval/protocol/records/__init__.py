"""What a rater leaves behind: events as they are written down, and the versioned records that are rebuilt from them."""
