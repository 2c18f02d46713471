"""“PW combo”: turns of PW-Turn and comparisons of self-chats of the same models together (Smith et al. 2022, Table 3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from parlai_humaneval.report.sections.turns.rows import of_group
from parlai_humaneval.report.sections.turns.types import ComboRow
from parlai_humaneval.report.views import Method
from parlai_humaneval.statistics.combos import PAIR_SOURCE, PAIR_TURNS, pair_combo
from parlai_humaneval.statistics.pair_wins import counted_comparisons, oriented
from parlai_humaneval.tables.choices import ChoiceGroup
from parlai_humaneval.tables.free_for_all import TECHNIQUE as FREE_FOR_ALL
from parlai_humaneval.tables.from_records import Tables

SELF_CHATS = ("self_chat", "")
"""Settings of comparisons that count; "" where a table from elsewhere does not say what was compared."""
NOT_SAID = "the table does not say whether the dialogues that were compared are self-chats, as in the paper"
METHOD = Method(
    name="PW combo",
    text="(1 · Lin over turns 2–6 + 5 · win rate of self-chats) / 6, ties left out of both. Interval and test against one "
    "half: CR1 t of the workers' weighted deviations from both; one who gave both counts as one.",
    source=PAIR_SOURCE,
)


def combo_rows(groups: Sequence[ChoiceGroup], tables: Tables, level: float) -> Iterator[ComboRow]:
    """Of each two models of which one of two replies was picked turn by turn, and whole dialogues were compared."""
    found = [g for g in groups if g.kind == "one" and len(g.models) == 2 and g.technique != FREE_FOR_ALL]
    rows = counted_comparisons(tables)
    rows = rows[(rows["dialogue_a"] != rows["dialogue_b"]).to_numpy(dtype=bool)]
    if not found or rows.empty:
        return
    rows = oriented(rows)
    rows = rows[((rows["outcome"] != 0) & rows["setting"].isin(SELF_CHATS)).to_numpy(dtype=bool)]
    of_pair = {tuple(map(str, key)): own for key, own in rows.groupby(["metric", "model_a", "model_b", "setting"])}
    for group in found:
        turns = group.at_turns(*PAIR_TURNS).turns
        gap = turns.chosen[:, 0] - turns.chosen[:, 1]
        decided = ~np.isnan(gap) & (gap != 0)
        for setting in SELF_CHATS:
            own = of_pair.get((group.metric, *group.models, setting))
            if own is None or not decided.any():
                continue
            won, dialogs = (gap[decided] > 0).astype(float), (own["outcome"].to_numpy() > 0).astype(float)
            result = pair_combo(
                won, turns.workers[decided], dialogs, own["worker_id"].to_numpy(dtype=object), level=level
            )
            if result.estimate is not None:
                yield ComboRow(
                    **of_group(group),
                    pair=group.models,
                    model_a=group.models[0],
                    model_b=group.models[1],
                    setting_dialog=setting,
                    n_turns=len(won),
                    n_dialogs=len(dialogs),
                    lin_turns_2_6=float(won.mean()),
                    win_rate_dialog=float(dialogs.mean()),
                    combo=result.estimate,
                    ci_low=result.ci_low,
                    ci_high=result.ci_high,
                    p_clustered=result.p_value,
                    notes=[*result.notes, *([] if setting else [NOT_SAID])],
                )
