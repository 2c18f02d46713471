"""What the page is told to show, and what it answers."""
