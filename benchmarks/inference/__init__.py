"""Null studies of every headline, the tests that were tried on them, and what the public functions say of them."""
