"""The choice of what each rater rates next."""
