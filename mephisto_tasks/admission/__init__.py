"""Decides whether a visitor may begin now."""
