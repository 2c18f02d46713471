"""Human evaluation of dialogue models: agents, protocol and statistics."""

from parlai_humaneval.models.turns import Turn

__all__ = ["Turn"]
__version__ = "0.1.0"
