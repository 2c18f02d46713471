"""Judges: models that answer the question that raters were asked, beside them and never among them."""
