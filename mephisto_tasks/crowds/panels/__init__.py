"""Panels that send raters by link."""
