"""Tests of the whole chain: a launched study, its page in a real Chromium, and the records that remain."""
