"""Judges: models that answer the same question as raters, but never count as raters."""
