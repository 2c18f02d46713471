"""Section ``direct_assessment``: 0–100 slider ratings by workers who can tell a degraded model (Ji et al. 2022)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from parlai_humaneval.report.conclusions import (
    BY_WORKER,
    about_dialogues,
    counted_once,
    holm_methods,
    pair_p,
    reuse_methods,
    to_cite,
)
from parlai_humaneval.report.rows import (
    Columns,
    Labels,
    Row,
    both_tests,
    columns,
    ends,
    part_table,
    published,
    row_table,
    whole,
)
from parlai_humaneval.report.section import (
    ModelLine,
    Options,
    PairLine,
    Part,
    Section,
    SectionLeftOut,
    Summary,
    results_disagree,
)
from parlai_humaneval.report.views import (
    Cell,
    Curve,
    CurveFigure,
    DataTable,
    Figure,
    IntervalFigure,
    Method,
    interval_figures,
    method,
    square,
)
from parlai_humaneval.statistics.core.correlation import criteria_correlations, rater_pairs
from parlai_humaneval.statistics.core.formatting import ABSENT, counted, format_p, listed, percent, signed, signed_range
from parlai_humaneval.statistics.core.multiplicity import Family
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.two_way import ABOUT_THESE, crossed_mean, is_by_both
from parlai_humaneval.statistics.ranking.order import EQUAL
from parlai_humaneval.statistics.raters.time import idle_answers
from parlai_humaneval.statistics.ratings.replications import replication, same_conclusions
from parlai_humaneval.statistics.ratings.sliders import TECHNIQUE, Assessed, assessed, is_reversed
from parlai_humaneval.statistics.ratings.standardised import ScoreGap, SystemScore, score_gaps, system_scores
from parlai_humaneval.tables.build import Tables
from parlai_humaneval.tables.filters import unique

OPINIONS = ("like", "liked", "ambivalent", "dislike", "disliked")
"""In the paper's order; others follow."""
OVERALL = "overall"
"""What the mean over all criteria is called where it is published; criteria may have the same name."""
KEYS = ["dialogue_id", "worker_id"]
TENTHS = 20
NAMED = 6
"""As many disagreements, and pairs that differ, as are told one by one."""

Score = float | None


class ModelRow(Row):
    """One model, ratings turned so that more is better; ``rank``: by ``overall``, 1 the best. Clustered by worker, and by
    dialogue where several workers rated the same.

    ``overall`` and ``z`` (by criterion) are standardised by worker; ``raw_overall`` and ``raw`` stand on the slider's
    scale. ``everyone``: overall z of all workers, where those who failed the check are left out of the other numbers.
    """

    FROM = published(
        whole("overall", "raw_overall"),
        ends("z.*", "criteria", "criteria"),
        ends("raw.*", "raw", "raw"),
        whole("everyone"),
        n_dialogues_everyone="everyone.n",
    )

    model: str
    rank: int | None
    n_ratings: int
    n_dialogues: int
    n_workers: int
    overall: Result
    raw_overall: Result
    z: dict[str, Result]
    raw: dict[str, Result]
    everyone: Result | None


class SettingRow(Row):
    """Overall z of a model in one setting, where there are several; standardised over all that a worker rated."""

    FROM = whole("overall")

    setting: str
    model: str
    n_dialogues: int
    overall: Result


class WorkerCheck(Part):
    """One worker's check: ``p`` of the rank-sum test that they rate the degraded model lower."""

    worker: str
    p: float
    passed: bool
    constant: bool


class WorkerCount(Part):
    """``passed``: who rated the degraded model lower; None where there was none, so that nobody could be checked.

    ``counted``: on whom the scores rest. ``constant``: who gave one and the same rating throughout. ``left_out``: ids of
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


class PairRow(Row):
    """Model A, the one with the better rank, against B by overall z.

    ``difference``: clustered as the scores are; ``p_worker``: by worker alone, None where that is ``p_clustered``.
    ``a_higher``, ``b_higher``: the paper's one-sided rank-sum tests; ``paper``: two-sided, of both. ``superiority``: chance
    that a dialogue of A is rated higher than one of B.
    """

    FROM = published(
        ends("difference", "difference"),
        both_tests("paper", "difference"),
        whole("superiority"),
        p_worker="difference.details.p_by_worker",
        p_a_higher="a_higher.p_value",
        p_b_higher="b_higher.p_value",
    )

    model_a: str
    model_b: str
    difference: Result
    a_higher: Result
    b_higher: Result
    paper: Result
    superiority: Result

    @property
    def p_paper(self) -> float | None:
        """The paper's one-sided p that the model that is ahead is the higher one."""
        return (self.a_higher if (self.difference.estimate or 0.0) >= 0 else self.b_higher).p_value

    @property
    def differs(self) -> bool | None:
        """Whether the test that decides tells the two apart; None where it cannot be made."""
        return self.line().differs

    def line(self) -> PairLine:
        """The pair in a summary, the model that is ahead first."""
        return PairLine.of(
            self.model_a,
            self.model_b,
            self.difference,
            self.p_paper,
            share=False,
            paper=self.paper,
            superiority=self.superiority,
        )


class Significance(Part):
    """``p[i][j]``: one-sided rank-sum p that the model of row i is better than that of column j; None on the diagonal.

    ``p_clustered[i][j]``: two-sided, clustered by worker, after Holm's correction.
    """

    models: list[str]
    p: list[list[Score]]
    p_clustered: list[list[Score]]


class Correlations(Part):
    """Of the raw scores of models on each two criteria, and on the mean over all of them.

    ``overall_at``: place of that mean in ``criteria``, where it is called overall; a criterion may have the same name.
    """

    criteria: list[str]
    overall_at: int = 0
    pearson: list[list[Score]]
    spearman: list[list[Score]]


class OpinionRow(Row):
    """What raters thought of the topic. ``n``: dialogues, the degraded model's too, as the paper counts them.

    ``share_passed``, ``share_failed``: of the dialogues of these workers. ``overall``: mean z of the dialogues that
    count, clustered by worker.
    """

    FROM = published(whole("overall"), n_scored="overall.n")

    opinion: str
    n: int
    share: float
    share_passed: Score
    share_failed: Score
    overall: Result


class RaterPairsRow(Row):
    """Pearson's r of each two ``workers`` (all, passed or failed) who rated the same models: quartiles over pairs.

    ``histogram``: share of pairs with r in tenths, from −1 to 1.
    """

    FROM = published(
        median="middle.estimate",
        first_quartile="middle.details.first_quartile",
        third_quartile="middle.details.third_quartile",
        n_pairs="middle.n",
        n_workers="middle.details.n_workers",
    )

    workers: str
    middle: Result
    histogram: list[float]


class ReplicationRow(Row):
    """Two runs of the study: r over models by criterion, and the share of pairs with the same conclusion.

    ``overall``: r of the mean over all criteria. ``r`` has it too, as ``overall``, where no criterion is called so.
    """

    FROM = published(
        whole("overall"),
        r="correlations.*.estimate",
        same_at_05="at_05.estimate",
        same_at_10="at_10.estimate",
    )

    run_a: str
    run_b: str
    n_models: int
    overall: Result
    correlations: dict[str, Result]
    at_05: Result
    at_10: Result


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


class DirectAssessment(Section):
    """Slider ratings of each model; models stand from best to worst."""

    TITLE: ClassVar[str] = "Direct assessment"

    basis: Basis
    models: list[ModelRow]
    workers: WorkerCount
    dialogues: DialogueCount
    pairs: list[PairRow]
    significance: Significance
    correlations: Correlations
    opinions: list[OpinionRow]
    rater_pairs: list[RaterPairsRow]
    replications: list[ReplicationRow]
    settings: list[SettingRow]
    checks: list[WorkerCheck]

    def left_out(self) -> SectionLeftOut | None:
        return (
            SectionLeftOut(
                section=self.TITLE,
                why="did not rate the degraded model, which is bad on purpose, lower than the others",
                workers=self.workers.left_out,
                of=self.workers.total,
            )
            if self.workers.left_out
            else None
        )

    def summary(self) -> list[Summary]:
        lines = [
            ModelLine.of(row.model, row.overall, "dialogues", share=False, n=row.n_dialogues) for row in self.models
        ]
        pairs = [row.line() for row in self.pairs]
        return [
            Summary(
                section="direct_assessment",
                technique=TECHNIQUE,
                setting=self.basis.setting,
                metric=self.basis.metric,
                question=OVERALL,
                what="overall z (0: the mean of all that a worker rated)",
                verdict=self.headline,
                models=lines,
                pairs=pairs,
                reference=0.0,
                model_table="direct_assessment_z",
                pair_table="direct_assessment_pairs" if pairs else "",
                remarks=self.remarks,
            )
        ]

    def data_tables(self) -> list[DataTable]:
        cited = to_cite([pair.line() for pair in self.pairs])
        tables = [
            *_scores_tables(self.models, self.basis.criteria),
            _workers_table(self.workers, self.dialogues),
            part_table("direct_assessment_pairs", "Pairs of models by overall z", _PAIRS, self.pairs, cited),
            part_table("direct_assessment_settings", "Overall z by setting", _SETTINGS, self.settings),
            _correlations_table(self.correlations, several=len(self.models) > 1),
            part_table(
                "direct_assessment_opinions",
                "What raters thought of their topics",
                _OPINIONS,
                self.opinions,
                ("Counts are of all rated dialogues, the degraded model's too; scores are without them.",),
            ),
            part_table(
                "direct_assessment_raters",
                "Agreement of two raters of the same models (Pearson's r)",
                _RATERS,
                self.rater_pairs,
            ),
            _replications_table(self.replications, self.basis.criteria),
        ]
        return [table for table in tables if table.rows]

    def figures(self) -> list[Figure]:
        """Scores with intervals, p of all pairs, correlations of criteria, and agreement of raters."""
        return [*_score_figures(self.models), *_heats(self), *_agreement_figures(self.rater_pairs)]

    def methods(self) -> list[Method]:
        """Of what is shown, and of nothing else."""
        return [
            *([_CHECK] if self.workers.passed is not None else []),
            *_SCORES,
            *reuse_methods([pair.difference for pair in self.pairs] or [row.overall for row in self.models]),
            *([_SIGNIFICANCE] if self.pairs else []),
            *holm_methods(pair.difference for pair in self.pairs),
            _CORRELATION,
            *([_AGREEMENT] if self.rater_pairs else []),
            *([_REPLICATION] if self.replications else []),
        ]


def build(tables: Tables, options: Options) -> DirectAssessment | None:
    """How good each model was found; reads ``ratings``, and ``dialogues`` for times and opinions.

    Raises:
        TableError: a rating is beyond the ends of its scale.
    """
    data = assessed(tables)
    if data is None:
        return None
    criteria = list(dict.fromkeys(str(name) for name in data.ratings["criterion"]))
    setting, metric = (" and ".join(unique(data.ratings[name])) for name in ("setting", "metric"))
    scores = sorted(system_scores(data.counted, criteria, level=options.level), key=_place)
    family = Family(TECHNIQUE, setting, metric, OVERALL)
    gaps = score_gaps(data.counted, [score.model for score in scores], family=family, level=options.level)
    # A row per rated dialogue, the degraded model's too, with seconds and opinion where they are known.
    # left_open: whether the page was, rather than that somebody worked so long.
    rated = data.ratings.drop_duplicates(KEYS)[[*KEYS, "degraded", "passed"]]
    known = tables.dialogues.drop_duplicates(KEYS)[[*KEYS, "seconds", "opinion"]]
    timed: pd.DataFrame = rated.merge(known, on=KEYS, how="left")
    timed["left_open"] = idle_answers(timed["seconds"].to_numpy(dtype=float, na_value=np.nan))
    section = DirectAssessment(
        basis=Basis(
            who="nobody_passed" if data.nobody_passed else "passed" if data.checked else "everyone",
            too_few_to_check=data.nobody_passed and data.too_few_to_check,
            criteria=criteria,
            reversed=unique(data.ratings["criterion"][is_reversed(data.ratings)]),
            setting=setting,
            metric=metric,
        ),
        models=_model_rows(scores, _of_everyone(data, criteria, options.level)),
        workers=_workers(data),
        dialogues=_dialogues(data, timed),
        pairs=[PairRow(**vars(gap)) for gap in gaps],
        significance=_significance([score.model for score in scores], gaps),
        correlations=_correlations(scores, criteria),
        opinions=_opinions(data, timed, options.level),
        rater_pairs=list(_rater_pairs(data)),
        replications=list(_replications(data, tables.dialogues, criteria)),
        settings=list(_settings(data.counted, criteria, options.level)),
        checks=_checks(data),
    )
    section.headline = _headline(section)
    section.remarks = [*data.remarks, *_remarks(section)]
    return section


def _place(score: SystemScore) -> float:
    z = score.z_overall.estimate
    return np.inf if z is None else -z


def _of_everyone(data: Assessed, criteria: Sequence[str], level: float) -> dict[str, Result]:
    """Overall z over all workers; nothing where they are who counts anyway."""
    if len(data.counted) == len(data.everyone):
        return {}
    return {score.model: score.z_overall for score in system_scores(data.everyone, criteria, level=level)}


def _model_rows(scores: Sequence[SystemScore], everyone: Mapping[str, Result]) -> list[ModelRow]:
    return [
        ModelRow(
            model=score.model,
            rank=rank,
            n_ratings=score.n_ratings,
            n_dialogues=score.n_dialogues,
            n_workers=score.n_workers,
            overall=score.z_overall,
            raw_overall=score.raw_overall,
            z=score.z,
            raw=score.raw,
            everyone=everyone.get(score.model),
        )
        for score, rank in zip(scores, _ranks([score.z_overall.estimate for score in scores]), strict=True)
    ]


def _ranks(values: Sequence[float | None]) -> list[int | None]:
    """1 the best; equal values share the better rank."""
    known = [value for value in values if value is not None]
    return [None if value is None else 1 + sum(other > value + EQUAL for other in known) for value in values]


def _settings(ratings: pd.DataFrame, criteria: Sequence[str], level: float) -> Iterator[SettingRow]:
    if ratings["setting"].nunique() < 2:
        return
    for setting, rows in ratings.groupby("setting", sort=True):
        for score in sorted(system_scores(rows, criteria, level=level), key=_place):
            yield SettingRow(
                setting=str(setting), model=score.model, n_dialogues=score.n_dialogues, overall=score.z_overall
            )


def _checks(data: Assessed) -> list[WorkerCheck]:
    if not data.checked:
        return []
    return [
        WorkerCheck(worker=str(worker), p=p, passed=passed, constant=constant)
        for worker, p, passed, constant in data.checks.itertuples(index=False)
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


def _dialogues(data: Assessed, timed: pd.DataFrame) -> DialogueCount:
    models = timed[~timed["degraded"].to_numpy(dtype=bool)]
    passed = models["passed"].to_numpy(dtype=bool)
    worked = ~models["left_open"].to_numpy(dtype=bool)
    return DialogueCount(
        total=len(models),
        passed=int(passed.sum()) if data.checked else None,
        minutes=_minutes(models),
        minutes_passed=_minutes(models[passed]) if data.checked else None,
        minutes_failed=_minutes(models[~passed]) if data.checked else None,
        n_cut=int((~worked).sum()),
        trimmed_minutes=_minutes(models[worked]),
        trimmed_minutes_passed=_minutes(models[worked & passed]) if data.checked else None,
        trimmed_minutes_failed=_minutes(models[worked & ~passed]) if data.checked else None,
    )


def _minutes(dialogues: pd.DataFrame) -> Score:
    seconds = dialogues["seconds"].dropna()
    return float(seconds.mean()) / 60 if len(seconds) else None


def _significance(models: list[str], gaps: Sequence[ScoreGap]) -> Significance:
    at = {model: place for place, model in enumerate(models)}
    one_sided: list[list[Score]] = [[None] * len(models) for _ in models]
    clustered: list[list[Score]] = [[None] * len(models) for _ in models]
    for gap in gaps:
        i, j = at[gap.model_a], at[gap.model_b]
        one_sided[i][j], one_sided[j][i] = gap.a_higher.p_value, gap.b_higher.p_value
        clustered[i][j] = clustered[j][i] = gap.difference.p_decides
    return Significance(models=models, p=one_sided, p_clustered=clustered)


def _correlations(scores: Sequence[SystemScore], criteria: Sequence[str]) -> Correlations:
    """Of raw scores, which are those that the paper's Table 8 correlates."""
    table = {
        score.model: {
            str(place): result.estimate
            for place, result in enumerate([score.raw_overall, *(score.raw[name] for name in criteria)])
        }
        for score in scores
    }
    places = [str(place) for place in range(1 + len(criteria))]
    return Correlations(
        criteria=[OVERALL, *criteria],
        pearson=criteria_correlations(table, places),
        spearman=criteria_correlations(table, places, "spearman"),
    )


def _opinions(data: Assessed, timed: pd.DataFrame, level: float) -> list[OpinionRow]:
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


def _rater_pairs(data: Assessed) -> Iterator[RaterPairsRow]:
    passed = data.ratings["passed"].to_numpy(dtype=bool)
    groups = {"passed": passed, "failed": ~passed} if data.checked else {"all": ~passed}
    for workers, members in groups.items():
        pairs = rater_pairs(data.ratings[members])
        if pairs.r.size:
            counts = np.histogram(pairs.r, bins=TENTHS, range=(-1, 1))[0]
            histogram = [float(count) / pairs.r.size for count in counts]
            yield RaterPairsRow(workers=workers, middle=pairs.median(), histogram=histogram)


def _replications(data: Assessed, dialogues: pd.DataFrame, criteria: Sequence[str]) -> Iterator[ReplicationRow]:
    run = _runs(data.counted, dialogues)
    runs = {name: data.counted[run.eq(name).to_numpy(dtype=bool)] for name in unique(run)}
    if len(runs) < 2:
        return
    scores = {name: system_scores(rows, criteria) for name, rows in runs.items()}
    z = {
        name: {score.model: {criterion: result.estimate for criterion, result in score.z.items()} for score in of_run}
        for name, of_run in scores.items()
    }
    overall = {
        name: {score.model: {OVERALL: score.z_overall.estimate} for score in of_run} for name, of_run in scores.items()
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
            overall=of_overall[OVERALL],
            correlations={**of_overall, **replication(z[a], z[b], criteria)},
            at_05=same_conclusions(first, second, alpha=0.05),
            at_10=same_conclusions(first, second, alpha=0.10),
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
    p_values: dict[tuple[str, str], float | None] = {}
    for gap in score_gaps(ratings, models):
        p_values[gap.model_a, gap.model_b] = gap.a_higher.p_value
        p_values[gap.model_b, gap.model_a] = gap.b_higher.p_value
    return p_values


def _headline(section: DirectAssessment) -> str:
    if not section.models:
        return "Only the degraded model has been rated, so nothing can be said about the others."
    if section.basis.too_few_to_check:
        return (
            f"None of {counted(section.workers.total, 'worker')} could pass the check: their ratings of the degraded model, "
            "which is bad on purpose, and of the others are too few for p < .05, so no score can be trusted."
        )
    if section.basis.who == "nobody_passed":
        return (
            f"None of {counted(section.workers.total, 'worker')} told the degraded model, which is bad on purpose, from "
            "the others. Who answers at random would not either, so no score can be trusted."
        )
    checked = "who passed the check" if section.workers.passed is not None else "(unchecked)"
    who = f"{counted(section.workers.counted, 'worker')} {checked}"
    scored = [model for model in section.models if model.overall.estimate is not None]
    if not scored:
        return f"No rating of {who} varies, so that no score can be standardised."
    best, *others = scored
    interval = signed_range(best.overall.ci_low, best.overall.ci_high)
    sure = "no interval" if interval == ABSENT else f"{100 * best.overall.level:.0f} % interval {interval}"
    surely = all(pair.differs for pair in section.pairs if best.model in (pair.model_a, pair.model_b))
    is_rated = "is rated" if not others else "is rated best" if surely else "has the highest mean as rated"
    same = [model.model for model in others if model.rank == best.rank]
    if same and len(same) == len(others):
        return (
            f"{listed([best.model, *same])} are rated alike by {who}: overall z {signed(best.overall.estimate)} each."
        )
    if same:
        is_rated = f"and {listed(same)} have the same highest mean as rated"
    named = f"{best.model} {is_rated} by {who}: overall z {signed(best.overall.estimate)} ({sure})"
    ranked = ", ".join(f"{model.model} {signed(model.overall.estimate)}" for model in others)
    then = f", then {ranked}" if others else ""
    verdict = _verdict(section.pairs, section.workers.counted)
    joined = "; " if any(pair.differs for pair in section.pairs) else ", but "
    return f"{named}{then}{f'{joined}{verdict}' if verdict else ''}."


def _verdict(pairs: Sequence[PairRow], workers: int) -> str:
    tested = [pair for pair in pairs if pair.differs is not None]
    if not pairs:
        return ""
    if not tested:
        return f"whether they differ cannot be tested with {counted(workers, 'worker')}"
    apart, clusters = [pair for pair in tested if pair.differs], _clusters(tested)
    if len(tested) == 1:
        p = pair_p(tested[0].line())
        return f"they {'differ' if apart else 'are statistically tied'} ({clusters}; {p})"
    if not apart:
        return f"no pair of {len(tested)} differs ({clusters}, Holm's correction)"
    verb = "differs" if len(apart) == 1 else "differ"
    apart.sort(key=lambda pair: -abs(pair.difference.estimate or 0.0))
    named = ", ".join(f"{_apart(pair)} ({format_p(pair.line().p_decides)})" for pair in apart[:NAMED])
    more = f" and {len(apart) - NAMED} more" if len(apart) > NAMED else ""
    return f"{len(apart)} of {len(tested)} pairs {verb} ({clusters}, Holm's correction): {named}{more}"


def _clusters(tested: Sequence[PairRow]) -> str:
    by_both = any(is_by_both(pair.difference) for pair in tested)
    return "clustered by worker and dialogue" if by_both else "clustered by worker"


def _apart(pair: PairRow) -> str:
    names = (pair.model_a, pair.model_b)
    return " from ".join(names if (pair.difference.estimate or 0.0) >= 0 else names[::-1])


def _remarks(section: DirectAssessment) -> Iterator[str]:
    workers = section.workers
    if workers.passed is None:
        yield "There was no degraded model, so that no worker could be checked: everybody counts."
    else:
        share = percent(workers.passed / workers.total)
        yield f"{workers.passed:,} of {counted(workers.total, 'worker')} ({share}) passed the check."
    if section.basis.who == "nobody_passed":
        yield "The scores shown are those of everyone."
    if workers.constant:
        n = counted(workers.constant, "worker")
        yield f"{n} gave one and the same rating throughout: that has no z, and does not pass a check."
    yield from _about_models(section)
    disagreeing = [
        text
        for pair in section.pairs
        if (text := results_disagree(f"{pair.model_a} against {pair.model_b}", pair.paper, pair.difference))
    ]
    yield from disagreeing[:NAMED]
    if len(disagreeing) > NAMED:
        more = counted(len(disagreeing) - NAMED, "other pair")
        yield f"The tests that take answers for independent, and the clustered ones, disagree on {more} too."
    results = [result for model in section.models for result in (model.overall, model.raw_overall)]
    yield from counted_once(pair.difference for pair in section.pairs)
    yield from about_dialogues(pair.difference for pair in section.pairs)
    told = (note for result in results if result.n for note in result.notes if not note.startswith(ABOUT_THESE))
    yield from sorted({f"{note[:1].upper()}{note[1:]}." for note in told})


def _about_models(section: DirectAssessment) -> Iterator[str]:
    if len(section.models) == 1:
        yield "There is one model: z says how it stands against the mean of all that a worker rated, not how good it is."
    lacking = [
        model.model
        for model in section.models
        if any(name not in model.raw or model.raw[name].estimate is None for name in section.basis.criteria)
    ]
    if lacking:
        yield f"Not rated on every criterion: {', '.join(lacking)}. Their overall score is the mean of the others."
    settings = list(dict.fromkeys(row.setting for row in section.settings))
    if settings:
        yield f"Settings are taken together: {', '.join(settings)}."
    if section.opinions:
        yield "Opinions of the topic are the raters' own; what they chose to talk about may differ in more than that."


def _scores_tables(models: Sequence[ModelRow], criteria: Sequence[str]) -> Iterator[DataTable]:
    """As the paper's Table 3 (z) and Table 10 (raw)."""
    note = "Reversed criteria are turned round: more is better. The degraded model is left out."
    keys = {name: f"criterion_{place}" for place, name in enumerate(criteria)}
    everyone: Columns = (
        ("everyone", "Overall, all workers", "number"),
        ("n_dialogues_everyone", "Dialogues, all workers", "count"),
    )
    listed: Columns = (
        ("rank", "Rank", "count"),
        ("model", "Model", "text"),
        ("n_ratings", "Ratings", "count"),
        ("overall", "Overall", "number"),
        ("low", "from", "number"),
        ("high", "to", "number"),
        *((key, name, "number") for name, key in keys.items()),
    )
    for of, title, overall, by_criterion in (
        ("z", "Standardised scores (z) by criterion", "overall", "criteria"),
        ("raw", "Raw scores by criterion", "raw_overall", "raw"),
    ):
        rows: list[dict[str, Cell]] = []
        for model in models:
            published = model.model_dump()
            ends_of = {"low": published[f"{overall}_low"], "high": published[f"{overall}_high"]}
            cells = {keys[name]: score for name, score in published[by_criterion].items()}
            rows.append({**published, "overall": published[overall], **ends_of, **cells})
        more = everyone if of == "z" and any(model.everyone for model in models) else ()
        yield row_table(f"direct_assessment_{of}", title, (*listed, *more), rows, (note,))


def _workers_table(workers: WorkerCount, dialogues: DialogueCount) -> DataTable:
    """As the paper's Table 1."""
    failed = None if workers.passed is None else workers.total - workers.passed
    lost = None if dialogues.passed is None else dialogues.total - dialogues.passed
    parts = (
        ("all", workers.total, dialogues.total, dialogues.trimmed_minutes),
        ("passed", workers.passed, dialogues.passed, dialogues.trimmed_minutes_passed),
        ("failed", failed, lost, dialogues.trimmed_minutes_failed),
    )
    rows: list[dict[str, Cell]] = [
        {
            "workers_are": name,
            "workers": n_workers,
            "dialogues": n_dialogues,
            "seconds": None if minutes is None else 60 * minutes,
        }
        for name, n_workers, n_dialogues, minutes in parts
    ]
    note = "Dialogues with the degraded model are not counted."
    if dialogues.n_cut:
        note += (
            f" The time of {counted(dialogues.n_cut, 'dialogue')} whose page was left open is left out of the means."
        )
    return row_table("direct_assessment_workers", "Workers and dialogues", _WORKERS, rows, (note,))


def _labels(correlations: Correlations) -> list[str]:
    """The criteria as people read them, so that a criterion called overall is not taken for the mean over all."""
    names, at = list(correlations.criteria), correlations.overall_at
    if names.count(names[at]) > 1:
        names[at] = f"{names[at]} (all criteria)"
    return names


def _correlations_table(correlations: Correlations, *, several: bool) -> DataTable:
    """As the paper's Table 8: Pearson in the upper right half, Spearman in the lower left; no rows of one model."""
    names = _labels(correlations)
    rows: list[dict[str, Cell]] = []
    for i, name in enumerate(names if several else ()):
        halves = [*correlations.spearman[i][:i], None, *correlations.pearson[i][i + 1 :]]
        rows.append({"criterion": name, **{f"criterion_{j}": r for j, r in enumerate(halves)}})
    listed: Columns = (
        ("criterion", "Criterion", "text"),
        *((f"criterion_{j}", name, "number") for j, name in enumerate(names)),
    )
    note = "Upper right half: Pearson's r; lower left: Spearman's ρ; of raw scores."
    return row_table("direct_assessment_correlations", "Correlation of criteria over models", listed, rows, (note,))


def _replications_table(replications: Sequence[ReplicationRow], criteria: Sequence[str]) -> DataTable:
    """As the last row of the paper's Table 3."""
    listed: Columns = (
        ("run_a", "Run", "text"),
        ("run_b", "against", "text"),
        ("n_models", "Models", "count"),
        ("overall", "Overall", "number"),
        ("overall_low", "from", "number"),
        ("overall_high", "to", "number"),
        *((f"criterion_{j}", name, "number") for j, name in enumerate(criteria)),
        ("same_at_05", "Same conclusions, p < .05", "share"),
        ("same_at_10", "p < .1", "share"),
    )
    rows = [
        {**row.model_dump(), **{f"criterion_{j}": row.correlations[name].estimate for j, name in enumerate(criteria)}}
        for row in replications
    ]
    title = "Replication: correlation of the scores of two runs"
    return row_table("direct_assessment_replications", title, listed, rows)


_LABELS: Labels = {
    "workers_are": ("Check", "text"),
    "workers": ("Workers", "count"),
    "seconds": ("Mean time a dialogue", "seconds"),
    "model_a": ("A", "text"),
    "model_b": ("B", "text"),
    "p_a_higher": ("p that A is higher (paper, one-sided)", "p"),
    "p_b_higher": ("p that B is higher (paper, one-sided)", "p"),
    "overall": ("Overall z", "number"),
    "opinion": ("Opinion", "text"),
    "n": ("Dialogues", "count"),
    "share": ("Share", "share"),
    "share_passed": ("of workers who passed", "share"),
    "share_failed": ("of workers who failed", "share"),
    "n_workers": ("In a pair", "count"),
    "n_pairs": ("Pairs", "count"),
    "first_quartile": ("First quartile", "number"),
    "median": ("Median", "number"),
    "third_quartile": ("Third quartile", "number"),
}
_WORKERS = columns("workers_are workers dialogues seconds", _LABELS)
_PAIRS = columns(
    "model_a model_b difference ci_low ci_high superiority superiority_low superiority_high p_clustered p_clustered_holm "
    "p_a_higher p_b_higher per_worker p_per_worker_holm",
    _LABELS,
)
_SETTINGS = columns("setting model n_dialogues overall overall_low overall_high", _LABELS)
_OPINIONS = columns("opinion n share share_passed share_failed overall overall_low overall_high", _LABELS)
_RATERS = columns(
    "workers n_workers n_pairs first_quartile median third_quartile",
    {**_LABELS, "workers": ("Workers", "text")},
)


def _score_figures(models: Sequence[ModelRow]) -> list[IntervalFigure]:
    return interval_figures(
        "direct_assessment_scores",
        "Overall score of each model, with its interval",
        "overall z (0: the mean of all that a worker rated)",
        [(model.model, model.overall) for model in models],
        reference=0.0,
    )


def _heats(section: DirectAssessment) -> Iterator[Figure]:
    """Of two models there is one p, which the table has; a correlation over two models is 1 or −1, whatever they are."""
    if len(section.models) < 3:
        return
    tests, models = section.significance, section.significance.models
    better = "p that the model of the row is better than that of the column (rank-sum, one-sided)"
    differ = "p that the two models differ (clustered, Holm)"
    alike = "Pearson correlation of criteria over models"
    correlations = section.correlations
    yield square("direct_assessment_significance", better, models, tests.p, "p")
    yield square("direct_assessment_significance_clustered", differ, models, tests.p_clustered, "p")
    yield square("direct_assessment_criteria", alike, _labels(correlations), correlations.pearson, "correlation")


def _agreement_figures(raters: Sequence[RaterPairsRow]) -> Iterator[Figure]:
    width = 2 / TENTHS
    middles = tuple(round(-1 + width * (place + 0.5), 6) for place in range(TENTHS))
    curves = tuple(Curve(name=row.workers, x=middles, y=tuple(row.histogram)) for row in raters)
    if curves:
        yield CurveFigure(
            key="direct_assessment_rater_agreement",
            title="Agreement of two raters of the same models",
            x_label="Pearson's r of two raters",
            y_label="share of pairs",
            curves=curves,
            share=True,
        )


_CHECK = method("direct_assessment", "worker_check")
_SCORES = (
    method("direct_assessment", "scores"),
    BY_WORKER,
)
_SIGNIFICANCE = method("direct_assessment", "significance")
_CORRELATION = method("direct_assessment", "correlation_of_criteria")
_AGREEMENT = method("direct_assessment", "agreement_of_raters")
_REPLICATION = method("direct_assessment", "replication")
