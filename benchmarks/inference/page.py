"""The page ``benchmarks/INFERENCE.md``: which test reports lead with, and the figures by which it was chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from benchmarks.inference.crowd import EQUAL, MOST
from benchmarks.inference.designs import QUALITY, TURNS
from benchmarks.inference.measure import AIM, BOUNDS, ICCS, WHOLE, Cell
from benchmarks.inference.promise import ALLOWED, ERRORS, Crowded, crowded
from benchmarks.inference.tastes import POWER, STUDIES, TASTE, Tasted

HEAD = f"""# Inference that keeps its promise

`python -m benchmarks.inference > benchmarks/INFERENCE.md` generates this page (in an hour on two processors; for only
the last table: `python -m benchmarks.inference.plans`). It simulates studies with the public functions that reports
lead with, and with every other test that we tried.

**Studies.** Equal workers contribute {EQUAL} dialogues each. Unequal workers contribute a lognormal number of dialogues
(median 2, σ 1.1, at least 1, cut off at {MOST}), as in real crowds. A dialogue has {TURNS} turns. The answers of a worker
are correlated with an ICC of {", ".join(f"{icc:g}" for icc in ICCS)}: each worker's probabilities are drawn from a beta or
Dirichlet distribution. In half of the studies with positions, each worker is drawn towards the first position (log-odds,
SD 1). Dialogues that are judged several times differ in quality (log-odds, SD {QUALITY:g}).

**Shares.** α = .05. For each combination of crowd, ICC and pull to the first position, there are {WHOLE.null:,} studies
of equal models (a quarter of that with reused dialogues), and {WHOLE.gap:,} studies with the gap at which CR1 has a power
of {AIM:g} if workers are equal. {WHOLE.asked} and {WHOLE.asked_gap} of these studies also go through the report's function.
Two thirds of them are chosen from the studies with p between {BOUNDS[0]:g} and {BOUNDS[1]:g} in a test similar to the
report's. The report's share is that test's share of all studies, corrected for how many more or fewer studies
the report finds. Shares are means over ICC and
pull. The benchmark fails if the report's share is outside {ALLOWED[0]:g} to {ALLOWED[1]:g} by
more than {ERRORS:g} standard errors of the simulation. For one model against a baseline, it fails only above that range,
because a small number of workers cannot show that a rate is above .95.

**What reports lead with.** For two models, the test flips the signs of the workers' sums. With few workers, it uses all
assignments of signs; with more workers, it uses a saddlepoint approximation in which ties count as half. For several
models, the same signs are flipped, and the sum of squares over all models is compared. Rates near 0 and 1 are tested
against a binomial distribution whose n is the effective number of independent answers under the hypothesis. If several
workers judged the same dialogues, the variance is the variance by worker plus the variance by dialogue, minus the
variance by both together, and at least the larger of the first two. The paper's test is shown next to each test.
"""

LEGEND = """The first number is the share of false positives in the worst crowd (number of workers, equal or unequal), as a
mean over ICC and pull. The second number is the difference in power from the first column if workers are equal, in points.
This difference is a price only where the first column keeps its error rate.
"""


SKEWED = f"""## Skewed tastes, and tastes that go with diligence

In these crowds, the models are equal on average over workers. In some crowds, a few workers always choose the first
model, so all other workers lean slightly to the second. In other crowds, a worker's number of dialogues correlates with
their taste (ICC {TASTE:g}). Each cell shows the share of false positives and, after the slash, the power. The power is the
mean over a gap in either direction that is found in {POWER:.0%} of studies with unequal workers without such tastes. For
each crowd, there are {STUDIES:,} studies of equal models, so the standard error of a rate of .05 is .005. Reports used to
give only the first column. They now show the second column next to it, with a remark if the two disagree.

- **Counting every worker once** finds a difference in .048 to .060 of studies (.067 in one crowd), without losing
  power: with unequal workers, it has more. The benchmark fails if it finds more than {ALLOWED[1]:g} by over
  {ERRORS:g} standard errors.
- **Counting every answer** finds a difference in .08 of studies with 20 unequal workers, if a fifth of them always
  choose the same model. If diligence goes with taste, it answers a different question: what a typical answer says. With
  150 workers and ρ = .4, it finds a difference in .79 of studies. That difference is real, but it is not a difference
  for the average worker.
- **No other test of the same sums fixes this.** CR1, CR2 and Johnson's correction for skewness find more differences,
  and the wild bootstrap finds as many. Taking the larger p-value of sign flips and Johnson's test costs up to a third of
  the power, and still finds differences in .07 of studies.
- **What remains:** if 20 workers contribute equal numbers of dialogues and a fifth of them always choose one model, the
  two columns are both at .067. In one study out of a hundred, no worker of this kind takes part by chance, and in many
  others, too few do. The slight lean of the other workers then looks like a difference, and no test can detect this from
  the answers. Betting on one worker after the other is valid for any tastes, but finds only a third as many differences
  with 20 workers, and four fifths as many with 150.
"""


def page(cells: Sequence[Cell], found: Sequence[Tasted] = ()) -> str:
    """The whole page in Markdown; ``found``: of skewed tastes."""
    rows = crowded(cells)
    parts = [HEAD, "## False positives: CR1 with Student's t → the report"]
    parts += [_by_crowd(own, lambda row: f"{_share(row.cr1)} → {_share(row.report.value)}") for own in _alike(rows)]
    parts += ["## Power where CR1 holds (equal workers): CR1 and what the report gains or loses, in points"]
    equal = [row for row in rows if not row.heavy and "reused" not in row.design]
    parts += [
        _by_crowd(own, lambda row: f"{_share(row.cr1_power)} {100 * (row.power.value - row.cr1_power):+.1f}")
        for own in _alike(equal)
    ]
    parts += [SKEWED, _of_tastes(found)] if found else []
    parts += ["## Every test that was tried", LEGEND]
    parts += [_remedies(own) for own in _families(cells)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _of_tastes(found: Sequence[Tasted]) -> str:
    """A line a crowd, a column a test."""
    lines = [
        [row.crowd.name, *(f"{_share(row.null[name])} / {_share(row.power[name])}" for name in row.null)]
        for row in found
    ]
    return _table([["", *found[0].null], *lines])


def _share(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def _alike(rows: Iterable[Crowded]) -> list[list[Crowded]]:
    """The rows in groups with the same numbers of workers."""
    crowds: dict[str, list[int]] = {}
    made = list(rows)
    for row in made:
        crowds.setdefault(row.design, []).append(row.workers)
    kinds = dict.fromkeys(tuple(sorted(set(workers))) for workers in crowds.values())
    return [[row for row in made if tuple(sorted(set(crowds[row.design]))) == kind] for kind in kinds]


def _by_crowd(rows: Sequence[Crowded], shown: Callable[[Crowded], str]) -> str:
    """A line a design, a column a crowd."""
    ordered = sorted(rows, key=lambda row: (row.heavy, row.workers))
    head = ["", *dict.fromkeys(f"{row.workers} {'unequal' if row.heavy else 'equal'}" for row in ordered)]
    designs = dict.fromkeys(row.design for row in rows)
    return _table([head, *([design, *(shown(row) for row in ordered if row.design == design)] for design in designs)])


def _families(cells: Sequence[Cell]) -> list[list[Cell]]:
    """The cells by the remedies that were tried on them."""
    return [
        [cell for cell in cells if tuple(cell.null.rates) == names]
        for names in dict.fromkeys(tuple(cell.null.rates) for cell in cells)
    ]


def _remedies(cells: Sequence[Cell]) -> str:
    """A line a design, a column a remedy."""
    names = list(cells[0].null.rates)
    designs = dict.fromkeys(cell.design for cell in cells)
    lines = [
        [design, *(_worst(own, name) for name in names)]
        for design in designs
        for own in [[cell for cell in cells if cell.design == design]]
    ]
    return _table([["", *names], *lines])


def _worst(cells: Sequence[Cell], name: str) -> str:
    crowds: dict[tuple[int, bool], list[float]] = {}
    for cell in cells:
        crowds.setdefault((cell.crowd.workers, cell.crowd.heavy), []).append(cell.null.rates[name])
    gained = np.mean([cell.gap.rates[name] - cell.gap.cr1 for cell in cells if not cell.crowd.heavy])
    return f"{_share(max(float(np.mean(shares)) for shares in crowds.values()))} {100 * gained:+.1f}"


def _table(lines: Sequence[Sequence[str]]) -> str:
    """Markdown, the first line as its head; numbers to the right."""
    rule = ["---", *("---:" for _ in lines[0][1:])]
    return "\n".join(f"| {' | '.join(line)} |" for line in [lines[0], rule, *lines[1:]])
