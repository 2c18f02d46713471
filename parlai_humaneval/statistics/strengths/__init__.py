"""Strengths of models from choices and comparisons."""
