"""A launch: settings, locks, and the running of a study under Mephisto."""
