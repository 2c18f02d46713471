"""Which models exist, and with which settings."""
