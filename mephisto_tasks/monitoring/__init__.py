"""``watch``: shows the state of a study in the terminal and as a page."""
