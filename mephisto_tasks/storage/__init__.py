"""Mephisto's database, and the files of a study."""
