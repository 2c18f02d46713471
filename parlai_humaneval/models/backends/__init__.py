"""Models that answer here, on a server, in a program or in a person's head."""
