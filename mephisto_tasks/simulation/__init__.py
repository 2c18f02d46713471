"""Simulated raters through the real wire."""
