"""One loaded copy of each model for all conversations."""
