"""What is stored, and what is sent to the page."""
