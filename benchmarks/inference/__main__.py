"""``python -m benchmarks.inference``: the page on inference, with figures measured now."""

from __future__ import annotations

from benchmarks.inference import plans
from benchmarks.inference.measure import measured
from benchmarks.inference.page import page
from benchmarks.inference.promise import crowded, refuse_skewed, refuse_wrong
from benchmarks.inference.tastes import tasted


def main() -> None:
    """Print the page, then fail where a headline leaves the range."""
    cells, found = measured(), tasted()
    print(page(cells, found), plans.section(plans.measured()), sep="\n", end="")
    refuse_wrong(crowded(cells))
    refuse_skewed(found)


if __name__ == "__main__":
    main()
