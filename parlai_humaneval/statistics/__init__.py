"""Statistics turn tidy tables into results; they know neither records nor reports."""
