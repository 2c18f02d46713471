"""pw_turn."""
