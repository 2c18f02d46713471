"""Erasure of raters, and anonymous release."""
