"""How long a speaker passes for a person, from current-status data."""
