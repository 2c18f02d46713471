"""Which answers count, and what must not show: identity leaks of models."""
