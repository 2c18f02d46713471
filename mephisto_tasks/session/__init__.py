"""What happens while a rater works, in both engines."""
