"""``watch``: the state of a study, drawn on the terminal and as a page."""
