"""The power curve of a plan: what fewer or more dialogues would buy."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from parlai_humaneval.planning.inputs import PlanError, PlanInputs
from parlai_humaneval.planning.layout import layout
from parlai_humaneval.planning.plan import Plan, plan_study, power_of

ENDINGS = (".png", ".svg", ".pdf")
_POINTS = 60


def power_curve(inputs: PlanInputs, *, gap: float | None = None) -> list[tuple[int, float]]:
    """Judgements of all samples together, and the power that they buy, up to twice what the plan needs.

    ``gap``: of another truth, with the sizes of the plan.
    """
    question = inputs.filled()
    planned = plan_study(inputs)
    sets = planned.n_judgements // planned.n_per_sample
    found = layout(question if gap is None else question.model_copy(update={"gap": gap, "shares": None}))
    sizes = np.unique(np.linspace(max(2, planned.n_per_sample // 20), 2 * planned.n_per_sample, _POINTS).astype(int))
    return [(int(n) * sets, power_of(question, found, int(n))) for n in sizes]


def draw_curve(inputs: PlanInputs, plan: Plan, path: Path) -> None:
    """Write the power curve of the plan's gap, and of a half and one and a half of it, as png, svg or pdf.

    Raises:
        PlanError: the file's ending is another one, or the file cannot be written.
    """
    if path.suffix.lower() not in ENDINGS:
        raise PlanError(f"a power curve is a {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]} file", where=path)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    styles = ((plan.gap * 1.5, ":", "#4c72b0"), (plan.gap, "-", "#c44e52"), (plan.gap / 2, "--", "#55a868"))
    for gap, dashes, colour in styles:
        try:
            points = power_curve(inputs, gap=gap) if gap != plan.gap else power_curve(inputs)
        except PlanError:
            continue  # one and a half of the gap may be more than is possible
        x, y = zip(*points, strict=True)
        axes.plot(x, y, dashes, color=colour, label=f"gap {100 * gap:.3g} points", linewidth=2)
    axes.axhline(plan.inputs["power"], color="grey", linewidth=0.8)
    axes.axvline(plan.n_judgements, color="grey", linewidth=0.8)
    axes.annotate(
        f"plan: {plan.n_judgements:,}",
        (plan.n_judgements, 0.02),
        xytext=(4, 0),
        textcoords="offset points",
        color="#444444",
    )
    axes.set(xlabel=f"{plan.judgement}s kept", ylabel="power", ylim=(0, 1.02), title=_title(plan))
    axes.legend(frameon=False, loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise PlanError(f"the power curve cannot be written to {path}: {error.strerror}") from error


def _title(plan: Plan) -> str:
    icc = plan.inputs["icc"]
    likeness = "independent judgements" if not icc else f"ICC {icc:g}, {plan.per_worker:.3g} a worker"
    return f"{plan.title}, {plan.models} models: {likeness}" if plan.models > 1 else f"{plan.title}: {likeness}"
