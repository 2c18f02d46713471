"""Commands: they parse, call and print."""
