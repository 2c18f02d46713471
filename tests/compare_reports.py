"""Compare the numbers of two JSON reports: before and after a change of the program.

``python tests/compare_reports.py OLD.json NEW.json`` (or two folders, whose JSON files are compared by name) walks both
trees and prints how many numbers it compared, which differ, which keys are missing and which are new. Sentences may be
reworded: they are counted only, or listed with ``--texts``. It exits with 1 where a number differs or a key is missing.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RELATIVE = 1e-9


@dataclass
class Comparison:
    """What comparing two trees brought to light; each entry is a path with what stands there."""

    numbers: int = 0
    differing: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    reworded: list[str] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        """Whether every old key is still there with its number."""
        return not (self.differing or self.missing)


def is_number(value: Any) -> bool:
    """Whether ``value`` is a number; True and False are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def children(value: Any) -> dict[str, Any]:
    """What stands one step below a mapping or a list, by how it is written in a path."""
    if isinstance(value, dict):
        return {f".{key}": inner for key, inner in value.items()}
    return {f"[{index}]": inner for index, inner in enumerate(value)}


def compare(old: Any, new: Any, relative: float = RELATIVE, at: str = "", into: Comparison | None = None) -> Comparison:
    """Walk both trees from ``at``; numbers are equal within ``relative`` of the old one."""
    result = Comparison() if into is None else into
    both = (old, new)
    if all(isinstance(value, dict) for value in both) or all(isinstance(value, list) for value in both):
        before, after = children(old), children(new)
        result.missing += [at + step for step in before if step not in after]
        result.new += [at + step for step in after if step not in before]
        for step in before:
            if step in after:
                compare(before[step], after[step], relative, at + step, result)
    elif all(map(is_number, both)):
        result.numbers += 1
        if not math.isclose(old, new, rel_tol=relative, abs_tol=1e-300):
            result.differing.append(f"{at}: {old!r} is now {new!r}")
    elif all(isinstance(value, str) for value in both):
        if old != new:
            result.reworded.append(f"{at}: {old!r} is now {new!r}")
    elif old is not new:  # One of them is true, false, null, or of another type.
        result.differing.append(f"{at}: {old!r} is now {new!r}")
    return result


def pairs_of_files(old: Path, new: Path) -> Iterator[tuple[str, Path, Path]]:
    """The files to compare, each with a name; every JSON file of a folder must be in the other.

    Raises:
        ValueError: the folder holds no JSON file.
    """
    if not old.is_dir():
        yield str(new), old, new
        return
    names = sorted(path.name for path in old.glob("*.json"))
    if not names:
        raise ValueError(f"{old} holds no JSON file")
    for name in names:
        yield name, old / name, new / name


def show(name: str, comparison: Comparison, *, texts: bool) -> None:
    """Print what was compared, and every difference on a line of its own."""
    print(
        f"{name}: {comparison.numbers} numbers compared, {len(comparison.differing)} differ, "
        f"{len(comparison.missing)} keys missing, {len(comparison.new)} new, {len(comparison.reworded)} texts reworded"
    )
    listed = {"differs": comparison.differing, "missing": comparison.missing, "new": comparison.new}
    if texts:
        listed["reworded"] = comparison.reworded
    for label, lines in listed.items():
        for line in lines:
            print(f"  {label}  {line}")


def main(arguments: Sequence[str] | None = None) -> int:
    """0 where all old numbers are found again, 1 where one differs or a key is missing, 2 where a file is unreadable."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").split("\n")[0], epilog="Example: %(prog)s before.json after.json"
    )
    parser.add_argument("old", type=Path, help="JSON report of before, or a folder of them")
    parser.add_argument("new", type=Path, help="JSON report of after, or a folder of them")
    parser.add_argument("--relative", type=float, default=RELATIVE, help="allowed relative difference (%(default)g)")
    parser.add_argument("--texts", action="store_true", help="list the texts that were reworded")
    options = parser.parse_args(arguments)
    equal = True
    try:
        for name, old, new in pairs_of_files(options.old, options.new):
            before, after = (json.loads(path.read_text(encoding="utf-8")) for path in (old, new))
            comparison = compare(before, after, options.relative)
            show(name, comparison, texts=options.texts)
            equal = equal and comparison.equal
    except (OSError, ValueError) as error:
        print(f"The reports cannot be compared: {error}", file=sys.stderr)
        return 2
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
