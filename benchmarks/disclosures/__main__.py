"""``python -m benchmarks.disclosures FOLDER [FILES]``: see :mod:`benchmarks.disclosures.measure`."""

from benchmarks.disclosures.measure import main

main()
