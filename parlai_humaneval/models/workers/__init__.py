"""Models in processes and on clusters."""
