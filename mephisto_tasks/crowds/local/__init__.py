"""Raters on this machine, who name themselves in the address or are named by the server."""
