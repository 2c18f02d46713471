"""Human evaluation of dialogue models: agents, protocol and statistics."""

__version__ = "0.1.0"
