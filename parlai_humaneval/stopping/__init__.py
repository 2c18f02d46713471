"""Studies that stop once they reach a decision."""
