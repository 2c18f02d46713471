"""TrueSkill over dialogues as free-for-all matches (Ma et al. 2023, §2.3; Herbrich et al. 2006)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

MU, SIGMA = 25.0, 25.0 / 3
BETA, TAU, DRAW = 25.0 / 6, 25.0 / 300, 0.10


@dataclass(frozen=True)
class Skill:
    """Belief about a model's skill: mean ``mu``, standard deviation ``sigma``, in TrueSkill points."""

    mu: float = MU
    sigma: float = SIGMA

    @property
    def score(self) -> float:
        """μ − 3σ: what the model can do with near certainty, the number that FFAEval ranks by."""
        return self.mu - 3 * self.sigma


def update(skills: Sequence[Skill], ranks: Sequence[int]) -> list[Skill]:
    """The beliefs after one match. ``ranks``: smaller is better, equal ranks are ties."""
    from trueskill import Rating, TrueSkill  # type: ignore[import-untyped]  # it ships no types

    world = TrueSkill(mu=MU, sigma=SIGMA, beta=BETA, tau=TAU, draw_probability=DRAW)
    groups = [(Rating(skill.mu, skill.sigma),) for skill in skills]
    rated = world.rate(groups, ranks=list(ranks))
    return [Skill(rating.mu, rating.sigma) for (rating,) in rated]


def trueskill(dialogues: Iterable[Mapping[str, int]], models: Sequence[str]) -> dict[str, Skill]:
    """Beliefs about ``models`` after all ``dialogues`` (model → points of each), in the order given.

    A dialogue ranks the models that it has, more points first; one model alone is no match. The order of dialogues
    matters a little: what the models did last weighs more.
    """
    skills = dict.fromkeys(models, Skill())
    for points in dialogues:
        playing = [model for model in models if model in points]
        if len(playing) > 1:
            ranks = [sum(points[other] > points[model] for other in playing) for model in playing]
            skills.update(zip(playing, update([skills[m] for m in playing], ranks), strict=True))
    return skills
