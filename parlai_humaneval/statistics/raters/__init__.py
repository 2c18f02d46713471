"""The raters themselves: agreement, time, time to significance."""
