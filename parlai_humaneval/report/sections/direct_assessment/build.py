"""Tables → the section on direct assessment (Ji et al. 2022)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.direct_assessment import words
from parlai_humaneval.report.sections.direct_assessment.rows import Assessed, assessed
from parlai_humaneval.report.sections.direct_assessment.section import DirectAssessment
from parlai_humaneval.report.sections.direct_assessment.types import (
    Basis,
    Correlations,
    DialogueCount,
    ModelRow,
    OpinionRow,
    PairRow,
    RaterPairsRow,
    ReplicationRow,
    Score,
    Significance,
    WorkerCount,
)
from parlai_humaneval.statistics.correction import holm
from parlai_humaneval.statistics.correlation import criteria_correlations, rater_pairs
from parlai_humaneval.statistics.means import clustered_mean
from parlai_humaneval.statistics.repeated_runs import replication, same_conclusions
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.statistics.slider_scores import is_reversed
from parlai_humaneval.statistics.standardised_scores import OVERALL, ScoreGap, SystemScore, score_gaps, system_scores
from parlai_humaneval.tables.counting import unique
from parlai_humaneval.tables.from_records import Tables

OPINIONS = ("like", "liked", "ambivalent", "dislike", "disliked")
"""In the paper's order; others follow."""
TENTHS = 20


def build(tables: Tables, options: Options) -> DirectAssessment | None:
    """How good each model was found; reads ``ratings``, and ``dialogues`` for times and opinions."""
    data = assessed(tables)
    if data is None:
        return None
    criteria = list(dict.fromkeys(str(name) for name in data.ratings["criterion"]))
    scores = _ranked(system_scores(data.counted, criteria, level=options.level))
    gaps = score_gaps(data.counted, [score.model for score in scores], level=options.level)
    timed = _with_dialogues(data, tables.dialogues)
    section = DirectAssessment(
        basis=Basis(
            who="nobody_passed" if data.nobody_passed else "passed" if data.checked else "everyone",
            criteria=criteria,
            reversed=unique(data.ratings["criterion"][is_reversed(data.ratings)]),
        ),
        models=_model_rows(scores, criteria),
        workers=_workers(data),
        dialogues=_dialogues(data, timed),
        pairs=_pair_rows(gaps),
        significance=_significance([score.model for score in scores], gaps),
        correlations=_correlations(scores, criteria),
        opinions=_opinions(data, timed, options.level),
        rater_pairs=list(_rater_pairs(data)),
        replications=list(_replications(data, tables.dialogues, criteria)),
    )
    section.headline = words.headline(section, gaps, options.level)
    section.remarks = [*data.remarks, *words.remarks(section, scores, data)]
    return section


def _ranked(scores: list[SystemScore]) -> list[SystemScore]:
    def place(score: SystemScore) -> float:
        z = score.z[OVERALL].estimate
        return np.inf if z is None else -z

    return sorted(scores, key=place)


def _model_rows(scores: Sequence[SystemScore], criteria: Sequence[str]) -> list[ModelRow]:
    return [
        ModelRow(
            model=score.model,
            rank=None if score.z[OVERALL].estimate is None else number,
            n_ratings=score.n_ratings,
            n_dialogues=score.n_dialogues,
            n_workers=score.n_workers,
            overall=score.z[OVERALL].estimate,
            overall_low=score.z[OVERALL].ci_low,
            overall_high=score.z[OVERALL].ci_high,
            raw_overall=score.raw[OVERALL].estimate,
            raw_overall_low=score.raw[OVERALL].ci_low,
            raw_overall_high=score.raw[OVERALL].ci_high,
            criteria={name: score.z[name].estimate for name in criteria},
            criteria_low={name: score.z[name].ci_low for name in criteria},
            criteria_high={name: score.z[name].ci_high for name in criteria},
            raw={name: score.raw[name].estimate for name in criteria},
            raw_low={name: score.raw[name].ci_low for name in criteria},
            raw_high={name: score.raw[name].ci_high for name in criteria},
        )
        for number, score in enumerate(scores, start=1)
    ]


def _workers(data: Assessed) -> WorkerCount:
    spread = data.ratings.groupby("worker_id")["raw"].agg(["min", "max"])
    return WorkerCount(
        total=data.n_workers,
        passed=data.n_passed if data.checked else None,
        counted=int(data.counted["worker_id"].nunique()),
        constant=int((spread["min"] == spread["max"]).sum()),
        left_out=_left_out(data),
    )


def _left_out(data: Assessed) -> list[str]:
    """Ids of those who failed; nobody's where all count for want of others."""
    if data.nobody_passed or not data.checked:
        return []
    failed = data.ratings.loc[~data.ratings["passed"].to_numpy(dtype=bool), "worker_id"]
    return sorted(map(str, failed.unique()))


def _with_dialogues(data: Assessed, dialogues: pd.DataFrame) -> pd.DataFrame:
    """A row per rated dialogue, the degraded model's too, with ``seconds`` and ``opinion`` where they are known."""
    keys = ["dialogue_id", "worker_id"]
    rated = data.ratings.drop_duplicates(keys)[[*keys, "degraded", "passed"]]
    known = dialogues.drop_duplicates(keys)[[*keys, "seconds", "opinion"]]
    whole: pd.DataFrame = rated.merge(known, on=keys, how="left")
    return whole


def _dialogues(data: Assessed, timed: pd.DataFrame) -> DialogueCount:
    models = timed[~timed["degraded"].to_numpy(dtype=bool)]
    passed = models["passed"].to_numpy(dtype=bool)
    return DialogueCount(
        total=len(models),
        passed=int(passed.sum()) if data.checked else None,
        minutes=_minutes(models),
        minutes_passed=_minutes(models[passed]) if data.checked else None,
        minutes_failed=_minutes(models[~passed]) if data.checked else None,
    )


def _minutes(dialogues: pd.DataFrame) -> Score:
    seconds = dialogues["seconds"].dropna()
    return float(seconds.mean()) / 60 if len(seconds) else None


def _pair_rows(gaps: Sequence[ScoreGap]) -> list[PairRow]:
    return [
        PairRow(
            model_a=gap.model_a,
            model_b=gap.model_b,
            difference=gap.difference.estimate,
            ci_low=gap.difference.ci_low,
            ci_high=gap.difference.ci_high,
            p_a_higher=gap.p_a_higher,
            p_b_higher=gap.p_b_higher,
            p_value=gap.paper_p,
            p_holm=corrected,
            p_clustered=gap.difference.p_value,
            p_clustered_holm=_decisive_p(gap.difference),
        )
        for gap, corrected in zip(gaps, holm([gap.paper_p for gap in gaps]), strict=True)
    ]


def _decisive_p(result: Result) -> Score:
    """Holm's where there are several tests."""
    return result.p_value if result.p_holm is None else result.p_holm


def _significance(models: list[str], gaps: Sequence[ScoreGap]) -> Significance:
    at = {model: number for number, model in enumerate(models)}
    p: list[list[Score]] = [[None] * len(models) for _ in models]
    clustered: list[list[Score]] = [[None] * len(models) for _ in models]
    for gap in gaps:
        i, j = at[gap.model_a], at[gap.model_b]
        p[i][j], p[j][i] = gap.p_a_higher, gap.p_b_higher
        clustered[i][j] = clustered[j][i] = _decisive_p(gap.difference)
    return Significance(models=models, p=p, p_clustered=clustered)


def _estimates(scores: Sequence[SystemScore], raw: bool) -> dict[str, Mapping[str, Score]]:
    return {
        score.model: {name: result.estimate for name, result in (score.raw if raw else score.z).items()}
        for score in scores
    }


def _correlations(scores: Sequence[SystemScore], criteria: Sequence[str]) -> Correlations:
    """Of raw scores, which are those that the paper's Table 8 correlates."""
    names, table = [OVERALL, *criteria], _estimates(scores, raw=True)
    return Correlations(
        criteria=names,
        pearson=criteria_correlations(table, names),
        spearman=criteria_correlations(table, names, "spearman"),
    )


def _opinions(data: Assessed, timed: pd.DataFrame, level: float) -> list[OpinionRow]:
    known = timed[timed["opinion"].notna().to_numpy(dtype=bool)]
    found = sorted(unique(known["opinion"]), key=lambda name: (*OPINIONS, name).index(name))
    passed = known["passed"].to_numpy(dtype=bool)
    keys = ["dialogue_id", "worker_id"]
    scored = data.counted.groupby(keys, sort=False)["z"].mean().reset_index().merge(known[[*keys, "opinion"]], on=keys)
    rows = []
    for name in found:
        is_it = known["opinion"].eq(name).to_numpy(dtype=bool)
        own = scored[scored["opinion"].eq(name).to_numpy(dtype=bool)]
        mean = clustered_mean(own["z"].to_numpy(dtype=float), own["worker_id"], name=name, level=level)
        rows.append(
            OpinionRow(
                opinion=name,
                n=int(is_it.sum()),
                share=float(is_it.mean()),
                share_passed=float(is_it[passed].mean()) if data.checked and passed.any() else None,
                share_failed=float(is_it[~passed].mean()) if data.checked and not passed.all() else None,
                n_scored=mean.n,
                overall=mean.estimate,
                overall_low=mean.ci_low,
                overall_high=mean.ci_high,
            )
        )
    return rows


def _rater_pairs(data: Assessed) -> Iterator[RaterPairsRow]:
    passed = data.ratings["passed"].to_numpy(dtype=bool)
    groups = {"passed": passed, "failed": ~passed} if data.checked else {"all": ~passed}
    for name, own in groups.items():
        pairs = rater_pairs(data.ratings[own])
        if not pairs.r.size:
            continue
        middle = pairs.median()
        counts = np.histogram(pairs.r, bins=TENTHS, range=(-1, 1))[0]
        yield RaterPairsRow(
            workers=name,
            n_pairs=pairs.r.size,
            n_workers=pairs.n_raters,
            median=middle.estimate,
            first_quartile=_number(middle, "first_quartile"),
            third_quartile=_number(middle, "third_quartile"),
            histogram=[float(count) / pairs.r.size for count in counts],
        )


def _number(result: Result, detail: str) -> Score:
    value = result.details.get(detail)
    return float(value) if isinstance(value, int | float) else None


def _replications(data: Assessed, dialogues: pd.DataFrame, criteria: Sequence[str]) -> Iterator[ReplicationRow]:
    """Of each two runs."""
    rows = data.counted
    run = _runs(rows, dialogues)
    runs = {name: rows[run.eq(name).to_numpy(dtype=bool)] for name in unique(run)}
    scores = {name: system_scores(own, criteria) for name, own in runs.items()} if len(runs) > 1 else {}
    for a, b in combinations(scores, 2):
        first, second = _estimates(scores[a], raw=False), _estimates(scores[b], raw=False)
        models = sorted(set(first) & set(second))
        if len(models) < 2:
            continue
        r = replication(first, second, [OVERALL, *criteria])
        one, other = (_one_sided(runs[name], models) for name in (a, b))
        yield ReplicationRow(
            run_a=a,
            run_b=b,
            n_models=len(models),
            r={name: result.estimate for name, result in r.items()},
            overall_low=r[OVERALL].ci_low,
            overall_high=r[OVERALL].ci_high,
            same_at_05=same_conclusions(one, other, alpha=0.05).estimate,
            same_at_10=same_conclusions(one, other, alpha=0.10).estimate,
        )


def _runs(rows: pd.DataFrame, dialogues: pd.DataFrame) -> pd.Series[str]:
    """The run of each rating: a column ``run`` names it; else its setting, where there are several; else its task."""
    if "run" in rows.columns:
        run = rows["run"]
    elif rows["setting"].nunique() > 1:
        run = rows["setting"]
    else:
        run = rows["dialogue_id"].map(dialogues.drop_duplicates("dialogue_id").set_index("dialogue_id")["task_name"])
    named: pd.Series[str] = pd.Series(["" if pd.isna(name) else str(name) for name in run], index=rows.index)
    return named


def _one_sided(ratings: pd.DataFrame, models: Sequence[str]) -> dict[tuple[str, str], float | None]:
    found: dict[tuple[str, str], float | None] = {}
    for gap in score_gaps(ratings, models):
        found[gap.model_a, gap.model_b], found[gap.model_b, gap.model_a] = gap.p_a_higher, gap.p_b_higher
    return found
