"""Third-party ratings: a recorded dialogue is rated once more, by somebody who did not take part (Liu et al. 2023; Ma et al. 2023)."""
