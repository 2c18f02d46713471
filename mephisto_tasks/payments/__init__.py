"""Amounts owed, and payments made exactly once."""
