"""A running launch, seen and steered from outside."""
