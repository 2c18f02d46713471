"""Studies that stop when decided."""
