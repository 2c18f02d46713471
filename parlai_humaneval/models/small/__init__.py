"""Models that need no download, and a check on raters."""
