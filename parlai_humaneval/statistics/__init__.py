"""Statistics turn tidy tables into results, independently of records and reports."""
