"""Replay exact input → output cases through the public analysis API.

``python tests/replay_gold.py FILE`` reads a JSON list of cases (``function``, ``args``, ``kwargs``, ``expected``,
``tolerance``), calls the adapter of each ``function``, prints what differs, then ``N passed, M failed``, and exits with 1
where anything did. The adapters only translate names and shapes; every number comes from ``parlai_humaneval``.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
# As a script, Python looks for packages beside this file first, where the tests of parlai_humaneval have its very name.
sys.path[:] = [str(HERE.parent), *(entry for entry in sys.path if Path(entry or ".").resolve() != HERE), str(HERE)]

from gold_adapters import ADAPTERS  # noqa: E402  # found only once the path is in order

_RELATIVE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%")


def differences(got: Any, expected: Any, tolerance: Any, where: str = "result") -> list[str]:
    """What differs, in words; none where ``got`` is ``expected`` within ``tolerance``.

    A number t allows |got − expected| ≤ t·max(1, |expected|) for every number inside; a text that begins with "5%" is
    relative; a mapping gives a tolerance for each key.
    """
    if isinstance(expected, Mapping):
        return _of_mapping(got, expected, tolerance, where)
    if isinstance(expected, (list, tuple)):
        if not isinstance(got, (list, tuple)) or len(got) != len(expected):
            return [f"{where}: {got!r} instead of {expected!r}"]
        pairs = zip(got, expected, strict=True)
        return [line for i, (g, e) in enumerate(pairs) for line in differences(g, e, tolerance, f"{where}[{i}]")]
    if isinstance(expected, bool) or not isinstance(expected, (int, float)):
        same = got == expected and isinstance(got, bool) == isinstance(expected, bool)
        return [] if same else [f"{where}: {got!r} instead of {expected!r}"]
    near = isinstance(got, (int, float)) and abs(got - expected) <= _allowed(tolerance, expected)
    return [] if near else [f"{where}: {got!r} instead of {expected!r} (tolerance {tolerance})"]


def _of_mapping(got: Any, expected: Mapping[str, Any], tolerance: Any, where: str) -> list[str]:
    if not isinstance(got, Mapping) or set(map(str, got)) != set(expected):
        return [f"{where}: {got!r} instead of {expected!r}"]
    found = {str(key): value for key, value in got.items()}
    each = tolerance if isinstance(tolerance, Mapping) else dict.fromkeys(expected, tolerance)
    return [
        line
        for key, value in expected.items()
        for line in differences(found[key], value, each.get(key, 1e-9), f"{where}.{key}")
    ]


def _allowed(tolerance: Any, expected: float) -> float:
    if isinstance(tolerance, str):
        match = _RELATIVE.match(tolerance)
        if match is None:
            raise ValueError(f"unknown tolerance {tolerance!r}")
        return float(match[1]) / 100 * abs(expected)
    return float(tolerance) * max(1.0, abs(expected))


def plain(value: Any) -> Any:
    """Numpy's numbers and arrays as Python's own; nan is refused, as no result may be one."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("the result holds nan or infinity")
    return value


def replay(case: Mapping[str, Any]) -> list[str]:
    """What is wrong with a case; nothing where it holds."""
    adapter = ADAPTERS.get(case["function"])
    if adapter is None:
        return [f"no adapter for {case['function']!r}"]
    try:
        got = plain(adapter(*case["args"], **case.get("kwargs", {})))
    except Exception as error:  # noqa: BLE001  # whatever a case makes the API raise is a failed case
        return [f"{type(error).__name__}: {error}"]
    return differences(got, case["expected"], case["tolerance"])


def main(arguments: Sequence[str] | None = None) -> int:
    """0 where every case holds, 1 where one differs, 2 where the file cannot be read."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0], epilog="Example: %(prog)s cases.json")
    parser.add_argument("file", type=Path, help="JSON list of cases")
    path = parser.parse_args(arguments).file
    try:
        cases = json.loads(path.read_text(encoding="utf-8"))
        problems = [(number, case["function"], replay(case)) for number, case in enumerate(cases)]
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"{path} cannot be replayed: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    failed = [problem for problem in problems if problem[2]]
    for number, function, lines in failed:
        print(f"case {number}, {function}:", *lines, sep="\n  ")
    print(f"{len(problems) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
