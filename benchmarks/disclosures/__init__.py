"""The classifier of talk of being a program: what it learns from, and how much it finds."""
