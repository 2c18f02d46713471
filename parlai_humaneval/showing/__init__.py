"""What a rater may see of a reply: what gives a model away is masked, its appearance is made even, words are filtered."""
