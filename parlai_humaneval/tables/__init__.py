"""Turns records, files and other data into checked tidy tables, on which all analysis is based."""
