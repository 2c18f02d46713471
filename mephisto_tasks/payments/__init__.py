"""What is owed and what is paid, exactly once."""
