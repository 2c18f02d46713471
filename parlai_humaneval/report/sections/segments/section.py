"""The section on judged segments, and what is shown of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from pydantic import Field

from parlai_humaneval.report.section import Section
from parlai_humaneval.report.sections.segments.pictures import figures_of
from parlai_humaneval.report.sections.segments.tables import tables_of
from parlai_humaneval.report.sections.segments.types import Analysis, SettingAnalysis
from parlai_humaneval.report.views import DataTable, Figure, Method
from parlai_humaneval.statistics.spotting import MOST_MATCHES

PAPER = "Deriu et al. 2020"


class SegmentsSection(Analysis, Section):
    """Who passes for a person, for how long, and why; ``settings``: each by itself, where there are several."""

    TITLE: ClassVar[str] = "Spot The Bot: who passes for a person"

    settings: list[SettingAnalysis] = Field(default_factory=list)
    seed: int
    draws: int
    subsamples: int
    level: float

    def _parts(self) -> Iterator[tuple[Analysis, str, str]]:
        """Each analysis, with what ends its keys and its titles."""
        yield self, "", f", {len(self.settings)} settings pooled" if self.settings else ""
        taken: set[str] = set()
        for place, part in enumerate(self.settings, start=1):
            key = re.sub(r"\W+", "_", part.setting).strip("_").lower() or str(place)
            key = f"{key}_{place}" if key in taken else key
            taken.add(key)
            yield part, f"_{key}", f", {part.setting}"

    def data_tables(self) -> list[DataTable]:
        return [table for part, key, title in self._parts() for table in tables_of(part, key, title)]

    def figures(self) -> list[Figure]:
        return [figure for part, key, title in self._parts() for figure in figures_of(part, key, title)]

    def methods(self) -> list[Method]:
        seed = f"{self.draws:,} resamples, seed {self.seed}"
        ranks = f"{self.resamples:,} resamples, seed {self.seed}"
        found = [
            Method(
                name="Win rate",
                text="Wins / (wins + losses) over segments of two different bots (Eq. 1): the better label wins, human > "
                "unsure > bot; ties are left out, and counted beside. χ² of wins against losses is the paper's and takes "
                f"all segments for independent; intervals ({self.level:.0%}) and clustered p are CR1 t over workers.",
                source=f"{PAPER}, §3.2",
            ),
            Method(
                name="Survival",
                text="Share not labelled bot within k exchanges. A segment says only whether its speaker was spotted by its "
                "end, so that the estimate is isotonic regression of the spotted share over lengths. Bands: percentiles "
                f"of a bootstrap over workers, point by point ({seed}).",
                source=f"{PAPER}, §3.3; Turnbull 1974",
            ),
            Method(
                name="Comparison of survival",
                text="Score test of equal hazards, which also holds where bots were shown at different lengths; with a CR1 "
                f"variance over workers; Zhao & Sun's generalised log-rank test, the paper's (1,000 imputations, seed "
                f"{self.seed}), and Sun's permutation test beside it. Holm's correction over all pairs of bots, for each "
                "test by itself.",
                source=f"{PAPER}, §3.3; Finkelstein 1986; Zhao & Sun 2004; Sun 1996",
            ),
        ]
        if self.resamples:
            found.insert(
                1,
                Method(
                    name="Ranks and clusters",
                    text="TrueSkill (no drift, ties as draws; of more than "
                    f"{MOST_MATCHES:,} segments Bradley–Terry strengths, ties as half a win) over resamples of the "
                    f"data's own size, of segments as in the paper and of workers ({ranks}); the range is the central "
                    f"{self.level:.0%} of a bot's ranks, and a cluster is a chain of overlapping ranges.",
                    source=f"{PAPER}, §3.2; Herbrich et al. 2006; Bojar et al. 2013",
                ),
            )
        return found + self._of_what_was_asked()

    def _of_what_was_asked(self) -> list[Method]:
        found = []
        if self.features:
            found.append(
                Method(
                    name="Effect of features",
                    text="Cox's model for each bot with all features as covariates (better 1, same 0, worse −1), fitted as "
                    "a binomial model with complementary log-log link and an intercept for each k. The effect is a log "
                    "hazard ratio of being spotted. The paper's p takes judgements for independent; clustered p is CR1 t "
                    "over workers, and over dialogues beside it. Holm's correction over all bots and features.",
                    source=f"{PAPER}, §4.2; Cox 1972",
                )
            )
        if self.labels:
            found.append(
                Method(
                    name="Agreement on a label",
                    text="Pairs of raters of the same speaker who both gave the label, of those of whom one did; intervals "
                    "by dialogue. The paper takes .33 for chance; of three labels that are equally likely it is .20.",
                    source=f"{PAPER}, §5.1",
                )
            )
        if self.stability:
            found.append(
                Method(
                    name="Stability",
                    text="Share of subsamples of n dialogues of each pair (without replacement) that give the most frequent "
                    "ranking, by the mean over opponents of the win rate; also without each bot. With all dialogues it "
                    f"is 1 whatever the data ({self.subsamples:,} subsamples, seed {self.seed}).",
                    source=f"{PAPER}, §5.2",
                )
            )
        return found
