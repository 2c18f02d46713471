"""A report is sections of data and words; everything that shows them draws those."""
