"""Records, files and data from elsewhere become checked tidy tables, on which all analysis works."""
