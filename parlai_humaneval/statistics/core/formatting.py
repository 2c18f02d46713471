"""How numbers are written in sentences and tables, the same everywhere."""

from __future__ import annotations

import math
from collections.abc import Sequence

ABSENT = "–"  # Stands where a number cannot be given
MINUS = "−"


def format_number(value: float | None) -> str:
    """Format a number with three decimals, or the dash if there is no value."""
    return ABSENT if value is None else unsigned_zero(f"{value:.3f}").replace("-", MINUS)


def unsigned_zero(text: str) -> str:
    """A number in words without the minus that rounding left before a zero: “-0.000” is “0.000”."""
    return text if any(digit in text for digit in "123456789") else text.removeprefix("-")


def format_p(p: float | None) -> str:
    """“p = .043”: rounded, without the leading zero; very small ones as “p < .0001”."""
    return "p cannot be estimated" if p is None else f"p {p_relation(p)}"


def p_cell(p: float | None) -> str:
    """The p-value for a table cell: “.043”, “< .0001” or the dash."""
    return ABSENT if p is None else p_relation(p).removeprefix("= ")


def p_relation(p: float) -> str:
    """“= .043”, “< .0001” or “= 1”."""
    if p < 0.0001:
        return "< .0001"
    decimals = 4 if p < 0.001 else 3 if p < 0.1 else 2
    text = f"{p:.{decimals}f}"
    return "= 1" if text.startswith("1") else f"= {text.removeprefix('0')}"


def percent(share: float | None) -> str:
    """“68 %”, or the dash."""
    return ABSENT if share is None else unsigned_zero(f"{100 * share:.0f} %").replace("-", MINUS)


def format_range(low: float | None, high: float | None) -> str:
    """“59–76 %”, “−19 to 73 %”, or the dash where the interval cannot be estimated."""
    if low is None or high is None:
        return ABSENT
    first, last = (unsigned_zero(f"{100 * end:.0f}").replace("-", MINUS) for end in (low, high))
    return f"{first}{' to ' if first.startswith(MINUS) else '–'}{last} %"


def seconds_words(seconds: float | None) -> str:
    """“14 s”, “3 min 20 s”, or the dash."""
    if seconds is None:
        return ABSENT
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    return f"{whole} s" if whole < 120 else f"{whole // 60} min {whole % 60} s"


def money_words(amount: float | None) -> str:
    """“12.40”, “0.00034”: two decimals, or of less than a tenth two significant digits; or the dash."""
    if amount is None:
        return ABSENT
    digits = 2 if abs(amount) >= 0.1 or amount == 0 else 1 - math.floor(math.log10(abs(amount)))
    return f"{amount:,.{digits}f}"


def hours_words(hours: float) -> str:
    """“1.25”, “under 0.01” or “0”."""
    return "0" if hours == 0 else "under 0.01" if hours < 0.005 else f"{hours:.2f}"


def counted(count: int, noun: str) -> str:
    """“1 turn”, “1,200 turns”."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def with_article(noun: str) -> str:
    """“a turn”, “an attention check”."""
    return f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun}"


def listed(names: Sequence[str], word: str = "and") -> str:
    """“ada”, “ada and bob”, “ada, bob and cyd”; or with another ``word``."""
    return f" {word} ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def sentence(words: str) -> str:
    """Add a capital and a full stop."""
    return f"{words[:1].upper()}{words[1:]}."


def points_words(difference: float | None) -> str:
    """Size of a difference of two shares in percentage points, “13” or “0.4”; or the dash."""
    if difference is None:
        return ABSENT
    points = abs(100 * difference)
    return f"{points:.0f}" if points >= 10 or points == 0 else f"{points:.1f}"


def signed_points(difference: float | None) -> str:
    """The same with its sign, “13” or “−0.4”; or the dash."""
    points = points_words(difference)
    return f"{MINUS}{points}" if difference is not None and difference < 0 and points.strip("0.") else points


def points_range(low: float | None, high: float | None) -> str:
    """“5 to 21”, “−3 to 8”, or the dash."""
    if low is None or high is None:
        return ABSENT
    return " to ".join(f"{round(100 * end):d}".replace("-", MINUS) for end in (low, high))


def signed(value: float | None) -> str:
    """“0.53”, “−0.04”, or the dash."""
    return ABSENT if value is None else f"{round(value, 2) + 0.0:.2f}".replace("-", MINUS)  # + 0: no “−0.00”


def signed_range(low: float | None, high: float | None) -> str:
    """“0.41 to 0.66”, or the dash."""
    return ABSENT if low is None or high is None else f"{signed(low)} to {signed(high)}"
