"""Mephisto's database and folders read back as records."""
