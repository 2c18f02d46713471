"""Deletes raters' data, and creates anonymous releases."""
