"""A running launch from outside: what it is told to do, and what it says of itself."""
