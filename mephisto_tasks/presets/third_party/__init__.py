"""Third-party ratings: a recorded dialogue is rated once more, by somebody else (Liu et al. 2023; Ma et al. 2023)."""
