"""What Mephisto 1.1.1 needs before it can be imported."""
