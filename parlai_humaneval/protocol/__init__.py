"""What a rater is asked and what they answered: steps, events, records, allocation."""
