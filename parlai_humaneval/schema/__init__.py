"""The schema of stored data, and of messages to the page."""
