"""Files that a study reads: personas, contexts, first lines, topics, and the words of the page."""
