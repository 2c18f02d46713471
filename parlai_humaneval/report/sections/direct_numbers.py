"""Rows and numbers of the section ``direct_assessment``: scores, checks, pairs, correlations, opinions and replications."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import Field

from parlai_humaneval.report.section import Options, PairLine, Part
from parlai_humaneval.statistics.core.means import crossed_mean
from parlai_humaneval.statistics.core.multiplicity import Family
from parlai_humaneval.statistics.core.ranks import criteria_correlations, rater_pairs, replication, same_conclusions
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.rows import Column, Count, Estimate, Key, Name, Row, interval_keys
from parlai_humaneval.statistics.ranking.order import EQUAL
from parlai_humaneval.statistics.raters.time import idle_answers
from parlai_humaneval.statistics.ratings import sliders
from parlai_humaneval.tables.build import Tables
from parlai_humaneval.tables.filters import unique

Score = float | None
Overall = Annotated[Result, Estimate("Overall z")]


class SettingRow(Row):
    """Overall z of a model in one setting, where there are several; standardised over all that a worker rated."""

    setting: Name
    model: Name
    n_dialogues: Count
    overall: Overall


class WorkerCheck(Part):
    """One worker's check: ``p`` of the rank-sum test that they rate the degraded model lower."""

    worker: str
    p: float
    passed: bool
    constant: bool


class WorkerCount(Part):
    """``passed``: raters who rated the degraded model lower; None if there was none, so that nobody was checked.

    ``counted``: on whom the scores rest. ``constant``: raters who gave the same rating throughout. ``left_out``: ids of
    those who did not pass and therefore do not count; empty where everybody counts.
    """

    total: int
    passed: int | None
    counted: int
    constant: int
    left_out: list[str] = Field(default_factory=list)


class DialogueCount(Part):
    """Rated dialogues without the degraded model's, and how long one took (mean minutes); None: not known.

    ``passed`` and ``failed``: of workers who passed the check, and who did not. ``trimmed``: without the ``n_cut``
    dialogues whose page was left open.
    """

    total: int
    passed: int | None
    minutes: Score
    minutes_passed: Score
    minutes_failed: Score
    n_cut: int
    trimmed_minutes: Score
    trimmed_minutes_passed: Score
    trimmed_minutes_failed: Score


class CheckedRow(Row):
    """All workers, those who passed the check or who failed it, and their dialogues: a line of a table."""

    workers_are: Annotated[str, Column("Check")]
    workers: Annotated[int | None, Column()]
    dialogues: Annotated[int | None, Column()]
    seconds: Annotated[Score, Column("Mean time a dialogue", "seconds")]


class Significance(Part):
    """``p[i][j]``: one-sided rank-sum p that the model of row i is better than that of column j; None on the diagonal.

    ``p_clustered[i][j]``: two-sided, clustered by rater, after Holm's correction.
    """

    models: list[str]
    p: list[list[Score]]
    p_clustered: list[list[Score]]


class Correlations(Part):
    """Correlations of the models' raw scores on each two criteria, and on the mean over all of them.

    ``overall_at``: place of that mean in ``criteria``, where it is called overall; a criterion may have the same name.
    """

    criteria: list[str]
    overall_at: int = 0
    pearson: list[list[Score]]
    spearman: list[list[Score]]

    @property
    def labels(self) -> list[str]:
        """The criteria as people read them, so that a criterion called overall is not taken for the mean over all."""
        names, at = list(self.criteria), self.overall_at
        if names.count(names[at]) > 1:
            names[at] = f"{names[at]} (all criteria)"
        return names


class OpinionRow(Row):
    """Raters' opinions of the topic. ``n``: dialogues, the degraded model's too, as the paper counts them.

    ``share_passed``, ``share_failed``: of the dialogues of these workers. ``overall``: mean z of the dialogues that
    count, clustered by rater.
    """

    opinion: Annotated[str, Column()]
    n: Annotated[int, Column("Dialogues")]
    share: Annotated[float, Column(kind="share")]
    share_passed: Annotated[Score, Column("of raters who passed", "share")]
    share_failed: Annotated[Score, Column("of raters who failed", "share")]
    overall: Annotated[Overall, Key(name="n_scored", path="n")]


class RaterPairsRow(Row):
    """Pearson's r of each two ``workers`` (all, passed or failed) who rated the same models: quartiles over pairs.

    ``histogram``: share of pairs with r in tenths, from −1 to 1.
    """

    workers: Annotated[str, Column()]
    middle: Annotated[
        Result,
        Column("In a pair", name="n_workers", path="details.n_workers"),
        Column("Pairs", "count", name="n_pairs", path="n"),
        Column(name="first_quartile", path="details.first_quartile"),
        Column(name="median", path="estimate"),
        Column(name="third_quartile", path="details.third_quartile"),
    ]
    histogram: list[float]


class ReplicationRow(Row):
    """Two runs of the study: r over models by criterion, and the share of pairs with the same conclusion.

    ``overall``: r of the mean over all criteria. ``r`` has it too, as ``overall``, where no criterion is called so.
    """

    run_a: str
    run_b: str
    n_models: int
    overall: Annotated[Result, interval_keys(sliders.OVERALL, sliders.OVERALL)]
    correlations: Annotated[dict[str, Result], Key(name="r", path="*.estimate")]
    at_05: Annotated[Result, Key(name="same_at_05", path="estimate")]
    at_10: Annotated[Result, Key(name="same_at_10", path="estimate")]


class Basis(Part):
    """``who``: ``passed`` (workers who passed the check), ``everyone`` (nobody could be checked) or ``nobody_passed``
    (then the scores are of everyone, and not to be trusted). ``criteria``: in the order of the table. ``too_few_to_check``:
    nobody gave so many ratings that they could have passed."""

    who: str
    too_few_to_check: bool = False
    criteria: list[str]
    reversed: list[str]
    setting: str
    metric: str


OPINIONS = ("like", "liked", "ambivalent", "dislike", "disliked")
"""In the paper's order; others follow."""
KEYS = ["dialogue_id", "worker_id"]
TENTHS = 20


class Assessment(Part):
    """Slider ratings of each model, the best model first."""

    basis: Basis
    models: list[sliders.SystemScore]
    workers: WorkerCount
    dialogues: DialogueCount
    pairs: list[sliders.ScoreGap]
    significance: Significance
    correlations: Correlations
    opinions: list[OpinionRow]
    rater_pairs: list[RaterPairsRow]
    replications: list[ReplicationRow]
    settings: list[SettingRow]
    checks: list[WorkerCheck]

    @property
    def lines(self) -> list[PairLine]:
        """The pairs in a summary, of each the model that is ahead first."""
        # The paper's p is one-sided: that the model that is ahead is the higher one.
        return [
            PairLine.of(
                gap.model_a,
                gap.model_b,
                gap.difference,
                (gap.a_higher if (gap.difference.estimate or 0.0) >= 0 else gap.b_higher).p_value,
                share=False,
                paper=gap.paper,
                superiority=gap.superiority,
            )
            for gap in self.pairs
        ]


def assess(data: sliders.Assessed, tables: Tables, options: Options) -> Assessment:
    """How good each model was found; reads ``dialogues`` for times and opinions."""
    criteria = list(dict.fromkeys(str(name) for name in data.ratings["criterion"]))
    setting, metric = (" and ".join(unique(data.ratings[name])) for name in ("setting", "metric"))
    scores = sorted(sliders.system_scores(data.counted, criteria, level=options.level), key=_place)
    models = [score.model for score in scores]
    family = Family(sliders.TECHNIQUE, setting, metric, sliders.OVERALL)
    gaps = sliders.score_gaps(data.counted, models, family=family, level=options.level)
    # A row per rated dialogue, the degraded model's too, with seconds and opinion where they are known.
    # left_open: whether the page was, rather than that somebody worked so long.
    rated = data.ratings.drop_duplicates(KEYS)[[*KEYS, "degraded", "passed"]]
    known = tables.dialogues.drop_duplicates(KEYS)[[*KEYS, "seconds", "opinion"]]
    timed: pd.DataFrame = rated.merge(known, on=KEYS, how="left")
    timed["left_open"] = idle_answers(timed["seconds"].to_numpy(dtype=float, na_value=np.nan))
    at = {model: place for place, model in enumerate(models)}
    one_sided: list[list[Score]] = [[None] * len(models) for _ in models]
    clustered: list[list[Score]] = [[None] * len(models) for _ in models]
    for gap in gaps:
        i, j = at[gap.model_a], at[gap.model_b]
        one_sided[i][j], one_sided[j][i] = gap.a_higher.p_value, gap.b_higher.p_value
        clustered[i][j] = clustered[j][i] = gap.difference.p_decides
    spread = data.ratings.groupby("worker_id")["raw"].agg(["min", "max"])
    failed = data.ratings.loc[~data.ratings["passed"].to_numpy(dtype=bool), "worker_id"]
    # Raw scores, as in the paper's Table 8.
    places = list(map(str, range(1 + len(criteria))))
    of_models = {score.model: [score.raw_overall, *(score.raw[name] for name in criteria)] for score in scores}
    table = {
        model: {place: result.estimate for place, result in zip(places, results, strict=True)}
        for model, results in of_models.items()
    }
    # Where all workers count, there is nothing else to say of everyone.
    of_all = (
        []
        if len(data.counted) == len(data.everyone)
        else sliders.system_scores(data.everyone, criteria, level=options.level)
    )
    everyone = {score.model: score.z_overall for score in of_all}
    z = [score.z_overall.estimate for score in scores]
    # Equal values share the better rank.
    ranks = [None if v is None else 1 + sum(other is not None and other > v + EQUAL for other in z) for v in z]
    added = [{"rank": rank, "everyone": everyone.get(of.model)} for of, rank in zip(scores, ranks, strict=True)]
    agreeing: list[RaterPairsRow] = []
    has_passed = data.ratings["passed"].to_numpy(dtype=bool)
    groups = {"passed": has_passed, "failed": ~has_passed} if data.checked else {"all": ~has_passed}
    for who, members in groups.items():
        pairs = rater_pairs(data.ratings[members])
        if pairs.r.size:
            counts = np.histogram(pairs.r, bins=TENTHS, range=(-1, 1))[0]
            histogram = [float(count) / pairs.r.size for count in counts]
            agreeing.append(RaterPairsRow(workers=who, middle=pairs.median(), histogram=histogram))
    return Assessment(
        basis=Basis(
            who="nobody_passed" if data.nobody_passed else "passed" if data.checked else "everyone",
            too_few_to_check=data.nobody_passed and data.too_few_to_check,
            criteria=criteria,
            reversed=unique(data.ratings["criterion"][sliders.is_reversed(data.ratings)]),
            setting=setting,
            metric=metric,
        ),
        models=[score.model_copy(update=update) for score, update in zip(scores, added, strict=True)],
        workers=WorkerCount(
            total=data.n_workers,
            passed=data.n_passed if data.checked else None,
            counted=int(data.counted["worker_id"].nunique()),
            constant=int((spread["min"] == spread["max"]).sum()),
            # Where nobody passed all count, for want of others.
            left_out=[] if data.nobody_passed or not data.checked else sorted(map(str, failed.unique())),
        ),
        dialogues=_dialogues(data, timed),
        pairs=gaps,
        significance=Significance(models=models, p=one_sided, p_clustered=clustered),
        correlations=Correlations(
            criteria=[sliders.OVERALL, *criteria],
            pearson=criteria_correlations(table, places),
            spearman=criteria_correlations(table, places, "spearman"),
        ),
        opinions=_opinions(data, timed, options.level),
        rater_pairs=agreeing,
        replications=list(_replications(data, tables.dialogues, criteria)),
        settings=[
            SettingRow.of(score, setting=str(name), overall=score.z_overall)
            for name, rows in data.counted.groupby("setting", sort=True)
            if data.counted["setting"].nunique() > 1
            for score in sorted(sliders.system_scores(rows, criteria, level=options.level), key=_place)
        ],
        checks=[
            WorkerCheck(worker=str(worker), p=p, passed=passed, constant=constant)
            for worker, p, passed, constant in data.checks.itertuples(index=False)
            if data.checked
        ],
    )


def _place(score: sliders.SystemScore) -> float:
    z = score.z_overall.estimate
    return np.inf if z is None else -z


def _dialogues(data: sliders.Assessed, timed: pd.DataFrame) -> DialogueCount:
    models = timed[~timed["degraded"].to_numpy(dtype=bool)]
    passed = models["passed"].to_numpy(dtype=bool)
    worked = ~models["left_open"].to_numpy(dtype=bool)
    minutes: dict[str, Score] = {}
    for name, rows in (("minutes", models), ("trimmed_minutes", models[worked])):
        passing = rows["passed"].to_numpy(dtype=bool)
        for end, part in (("", rows), ("_passed", rows[passing]), ("_failed", rows[~passing])):
            seconds = part["seconds"].dropna()
            known = len(seconds) and (data.checked or not end)
            minutes[f"{name}{end}"] = float(seconds.mean()) / 60 if known else None
    return DialogueCount(
        total=len(models), passed=int(passed.sum()) if data.checked else None, n_cut=int((~worked).sum()), **minutes
    )


def _opinions(data: sliders.Assessed, timed: pd.DataFrame, level: float) -> list[OpinionRow]:
    known = timed[timed["opinion"].notna().to_numpy(dtype=bool)]
    passed = known["passed"].to_numpy(dtype=bool)
    scored = data.counted.groupby(KEYS, sort=False)["z"].mean().reset_index().merge(known[[*KEYS, "opinion"]], on=KEYS)
    rows = []
    for name in sorted(unique(known["opinion"]), key=lambda name: (*OPINIONS, name).index(name)):
        is_it = known["opinion"].eq(name).to_numpy(dtype=bool)
        of_it = scored[scored["opinion"].eq(name).to_numpy(dtype=bool)]
        z, workers, dialogues = (of_it[column].to_numpy(dtype=object) for column in ("z", "worker_id", "dialogue_id"))
        rows.append(
            OpinionRow(
                opinion=name,
                n=int(is_it.sum()),
                share=float(is_it.mean()),
                share_passed=float(is_it[passed].mean()) if data.checked and passed.any() else None,
                share_failed=float(is_it[~passed].mean()) if data.checked and not passed.all() else None,
                overall=crossed_mean(z, workers, dialogues, name=name, level=level),
            )
        )
    return rows


def _replications(data: sliders.Assessed, dialogues: pd.DataFrame, criteria: Sequence[str]) -> Iterator[ReplicationRow]:
    # The run of each rating: a column ``run`` names it; else its setting, where there are several; else its task.
    if "run" in data.counted.columns:
        run = data.counted["run"]
    elif data.counted["setting"].nunique() > 1:
        run = data.counted["setting"]
    else:
        tasks = dialogues.drop_duplicates("dialogue_id").set_index("dialogue_id")["task_name"]
        run = data.counted["dialogue_id"].map(tasks)
    run = pd.Series(["" if pd.isna(name) else str(name) for name in run], index=data.counted.index)
    runs = {name: data.counted[run.eq(name).to_numpy(dtype=bool)] for name in unique(run)}
    if len(runs) < 2:
        return
    scores = {name: sliders.system_scores(rows, criteria) for name, rows in runs.items()}
    z = {
        run_: {score.model: {name: result.estimate for name, result in score.z.items()} for score in of_run}
        for run_, of_run in scores.items()
    }
    overall = {
        run_: {score.model: {sliders.OVERALL: score.z_overall.estimate} for score in of_run}
        for run_, of_run in scores.items()
    }
    for a, b in combinations(runs, 2):
        models = sorted(set(z[a]) & set(z[b]))
        if len(models) < 2:
            continue
        first, second = (_one_sided(runs[name], models) for name in (a, b))
        of_overall = replication(overall[a], overall[b])
        yield ReplicationRow(
            run_a=a,
            run_b=b,
            n_models=len(models),
            overall=of_overall[sliders.OVERALL],
            correlations={**of_overall, **replication(z[a], z[b], criteria)},
            at_05=same_conclusions(first, second, alpha=0.05),
            at_10=same_conclusions(first, second, alpha=0.10),
        )


def _one_sided(ratings: pd.DataFrame, models: Sequence[str]) -> dict[tuple[str, str], float | None]:
    p_values: dict[tuple[str, str], float | None] = {}
    for gap in sliders.score_gaps(ratings, models):
        p_values[gap.model_a, gap.model_b] = gap.a_higher.p_value
        p_values[gap.model_b, gap.model_a] = gap.b_higher.p_value
    return p_values
