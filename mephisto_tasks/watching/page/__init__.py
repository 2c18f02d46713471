"""The pages of ``watch``: a secret one that steers, and a public one that shows who leads."""
