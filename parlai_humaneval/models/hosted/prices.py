"""What a reply of a hosted model costs."""

from __future__ import annotations

from dataclasses import dataclass

PER = 1_000_000
"""Tokens that a price is for, as makers publish them."""


@dataclass(frozen=True)
class Prices:
    """Prices per million tokens, in ``currency``. None: not known; where both are, nothing has a cost.

    Raises:
        ValueError: for a price below 0.
    """

    prompt: float | None = None
    completion: float | None = None
    currency: str = "USD"

    def __post_init__(self) -> None:
        for name, price in (("price_prompt", self.prompt), ("price_completion", self.completion)):
            if price is not None and not 0 <= price < float("inf"):
                raise ValueError(f"{name} must be a price per million tokens, 0 or more, not {price}")

    def cost(self, prompt_tokens: int | None, completion_tokens: int | None) -> float | None:
        """Of one reply, in :attr:`currency`; None where a price or a number of tokens that it takes is not known."""
        due = ((self.prompt, prompt_tokens), (self.completion, completion_tokens))
        priced = [(price, tokens) for price, tokens in due if price is not None]
        if not priced or any(tokens is None for _, tokens in priced):
            return None
        return sum(price * (tokens or 0) for price, tokens in priced) / PER
