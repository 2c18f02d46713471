"""Ratings on scales: Likert, sliders, correlations, regressions."""
