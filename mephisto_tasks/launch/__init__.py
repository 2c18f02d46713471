"""From settings to a running study, and to a clean end."""
