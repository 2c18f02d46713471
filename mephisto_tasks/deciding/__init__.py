"""Launches that end when their answer is reached (``stop=decided``)."""
