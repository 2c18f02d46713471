"""Who is better than whom, in words."""

from __future__ import annotations

from parlai_humaneval.sequential.deciding import Decisions
from parlai_humaneval.sequential.pairs import pairs_of


def in_words(models: tuple[str, ...], decisions: Decisions, margin: float) -> str:
    """Who is better than whom in the first of the studies, such as “A > B > {C ≈ D within 10 points}”.

    Where that is no row of groups, as long as pairs are open or where A ≈ B ≈ C though A > C, claim after claim.
    """
    better, points = decisions.better[0], f"within {margin * 100:g} points"
    order = sorted(range(len(models)), key=lambda i: (-int(better[i].sum()), int(better[:, i].sum()), i))
    groups: list[list[int]] = []
    for model in order:
        if groups and not better[groups[-1][-1], model]:
            groups[-1].append(model)
        else:
            groups.append([model])
    number, equal = pairs_of(len(models)).number, decisions.equal[0]
    place = {model: at for at, group in enumerate(groups) for model in group}
    is_row = all(
        better[i, j] if place[i] < place[j] else better[j, i] if place[i] > place[j] else equal[number[i, j]]
        for i in order
        for j in order
        if i < j
    )
    if is_row:
        return " > ".join(
            models[group[0]] if len(group) == 1 else f"{{{' ≈ '.join(models[i] for i in group)} {points}}}"
            for group in groups
        )
    claims = [
        f"{models[i]} > {models[j]}"
        for i in order
        for j in order
        if better[i, j] and not any(better[i, k] and better[k, j] for k in order)
    ]
    alike = [f"{models[i]} ≈ {models[j]}" for i in order for j in order if i < j and equal[number[i, j]]]
    return "; ".join([*claims, *([f"{', '.join(alike)} {points}"] if alike else [])])
