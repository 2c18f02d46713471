"""Prolific by its API: drafts with a price, places that follow open units, arrivals checked, and nobody paid twice."""
