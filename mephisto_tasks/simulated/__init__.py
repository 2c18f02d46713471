"""Raters without people, through the real protocol."""
