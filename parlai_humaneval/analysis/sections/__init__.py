"""What a report says of each tidy table: a section a topic, with its numbers, tables, figures and methods."""
