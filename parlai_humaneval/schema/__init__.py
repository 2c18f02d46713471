"""What is stored, and what travels to the page."""
