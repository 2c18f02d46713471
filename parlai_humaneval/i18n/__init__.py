"""The languages of the rater's page."""
