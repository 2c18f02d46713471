"""Deleting what is known of workers: everywhere in a data directory, and in what was exported from it."""
