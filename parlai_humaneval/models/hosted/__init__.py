"""Models behind a server."""
