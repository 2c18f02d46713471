"""The texts and tasks of a study."""
