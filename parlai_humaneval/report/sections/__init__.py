"""One topic of a report a module."""
