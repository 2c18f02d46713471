"""What a report on tables is called where nobody has given it a name."""

from __future__ import annotations

from parlai_humaneval.report.designs import designs_of, models_in
from parlai_humaneval.statistics.wording import counted
from parlai_humaneval.tables.counting import is_set
from parlai_humaneval.tables.from_records import Tables
from parlai_humaneval.techniques import techniques

NAMED = 4
"""Of more models only the number is told."""


def default_title(tables: Tables) -> str:
    """“alpha and beta, rated with SATA”; the technique only where the tables say it; the degraded model is not evaluated."""
    degraded = set(map(str, tables.ratings.loc[is_set(tables.ratings, "degraded"), "model"].dropna().unique()))
    models = sorted(models_in(tables) - degraded)
    known = techniques()
    names = sorted({design.technique for design in designs_of(tables)} - {""})
    titles = [known[name].title if name in known else name for name in names]
    if not models:
        who = "Rated dialogues"
    elif len(models) > NAMED:
        who = counted(len(models), "model")
    else:
        who = " and ".join(filter(None, (", ".join(models[:-1]), models[-1])))
    return f"{who}, rated with {' and '.join(titles)}" if titles else who
