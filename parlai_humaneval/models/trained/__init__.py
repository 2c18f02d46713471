"""Models that are trained here, and what trains them."""
