"""Two partners side by side, judged as a whole."""
