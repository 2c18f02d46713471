"""TrueSkill of matches of any number of players."""
