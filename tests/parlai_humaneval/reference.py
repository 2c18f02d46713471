"""Where the reference figures stand when the tests run beside them."""

from pathlib import Path

REFERENCE = Path(__file__).resolve().parents[3] / "shared" / "reference"
