"""Human evaluation of dialogue models: agents, protocol and statistics."""

from parlai_humaneval.agents.turns import Turn

__all__ = ["Turn"]
__version__ = "0.1.0"
