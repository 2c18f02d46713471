"""What was worked, what is owed for it, and paying it exactly once."""
