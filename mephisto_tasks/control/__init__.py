"""Observes and controls a running launch from outside."""
